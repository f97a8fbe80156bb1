"""Launchers: executable scripts, one directory for each environment."""

import sys
from pathlib import Path

import pytest

from trio_kafka_spark.launchers import launcher_home, write_launcher


def test_each_python_environment_has_its_own_launcher_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    here = launcher_home("java")
    monkeypatch.setattr(sys, "prefix", "/another/.venv")

    assert here.is_relative_to(tmp_path / "trio-kafka" / "java")
    assert launcher_home("java") == tmp_path / "trio-kafka" / "java" / "another-venv"


def test_a_launcher_is_executable_and_is_rewritten_only_if_its_text_differs(tmp_path: Path) -> None:
    path = tmp_path / "a" / "java"
    write_launcher(path, "one")
    first = path.stat()
    write_launcher(path, "one")
    assert path.stat().st_ino == first.st_ino
    write_launcher(path, "two")

    assert path.read_text() == "two"
    assert path.stat().st_mode & 0o777 == 0o755
    assert [file.name for file in path.parent.iterdir()] == ["java"]
