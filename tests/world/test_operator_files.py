import os
import tempfile
from pathlib import Path

import pytest

from trio_kafka.world.operator_files import file_stamp, read_operator_file, secret_file


def test_a_stamp_differs_when_a_file_is_written_replaced_or_gone(tmp_path: Path) -> None:
    path, other = tmp_path / "a", tmp_path / "b"
    stamps = [file_stamp(str(path))]
    path.write_text("one")
    stamps.append(file_stamp(str(path)))
    path.write_text("longer")
    stamps.append(file_stamp(str(path)))
    other.write_text("longer")
    other.rename(path)
    stamps.append(file_stamp(str(path)))

    assert stamps[0] is None
    assert len(set(stamps)) == 4
    assert read_operator_file(str(path)) == b"longer"


def test_a_secret_has_a_path_during_the_block_only() -> None:
    with secret_file("s3cret") as path:
        assert Path(path).read_text() == "s3cret"
    assert not Path(path).exists()


def test_a_system_without_files_in_memory_gets_a_temporary_one(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delattr(os, "memfd_create")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with secret_file("s3cret") as path:
        assert Path(path).read_text() == "s3cret"
        assert Path(path).stat().st_mode & 0o077 == 0
    assert list(tmp_path.iterdir()) == []
