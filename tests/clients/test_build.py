from pathlib import Path

import pytest

from tests.clients import build
from tests.clients.build import MissingError, built, clients_cache, jar_directory, need


@pytest.fixture
def sources(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The sources of one client."""
    monkeypatch.setattr(build, "SOURCES", tmp_path / "sources")
    monkeypatch.setenv("TRIO_KAFKA_CLIENTS", str(tmp_path / "cache"))
    directory = tmp_path / "sources" / "sample"
    directory.mkdir(parents=True)
    (directory / "main").write_text("one")
    (directory / "lock").write_text("1.0")
    return directory


def test_a_program_is_built_once_next_to_a_copy_of_its_sources(sources: Path) -> None:
    builds: list[Path] = []

    homes = {built("sample", builds.append) for _ in range(3)}

    assert homes == set(builds)
    assert len(builds) == 1
    assert (builds[0] / "main").read_text() == "one"


@pytest.mark.parametrize("changed", ["main", "lock", "another"])
def test_a_changed_source_or_lock_file_gets_another_build_directory(
    sources: Path, changed: str
) -> None:
    first = built("sample", lambda _: None)

    (sources / changed).write_text("two")

    assert built("sample", lambda _: None) != first


def test_a_changed_external_dependency_gets_another_build_directory(
    sources: Path, tmp_path: Path
) -> None:
    other = tmp_path / "pom.xml"
    other.write_text("1")
    first = built("sample", lambda _: None, other)

    other.write_text("2")

    assert built("sample", lambda _: None, other) != first


def test_a_failed_build_is_repeated_from_an_empty_directory(sources: Path) -> None:
    def fail(home: Path) -> None:
        (home / "half").touch()
        raise RuntimeError("no compiler")

    with pytest.raises(RuntimeError):
        built("sample", fail)

    home = built("sample", lambda _: None)
    assert not (home / "half").exists()


def test_a_missing_program_is_reported_with_its_install_command(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PATH", "")

    with pytest.raises(MissingError, match="kcat is not installed: apt-get install kcat"):
        need("kcat")


def test_cache_directories_follow_environment_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("TRIO_KAFKA_CLIENTS", "TRIO_KAFKA_CACHE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", "/cache")

    assert clients_cache() == Path("/cache/trio-kafka-clients")
    assert jar_directory("tools") == Path("/cache/trio-kafka/apache-kafka/tools")
