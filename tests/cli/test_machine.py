import os

import pytest

from trio_kafka.cli.machine import Machine


def test_machine_reads_the_environment_of_the_process(monkeypatch):
    monkeypatch.setenv("KAFKA_NUM_PARTITIONS", "5")

    assert Machine().variables == dict(os.environ)
    assert Machine({"a": "b"}).variables == {"a": "b"}


def test_machine_reads_files_as_utf_8_with_unchanged_line_ends(tmp_path):
    file = tmp_path / "f"
    file.write_bytes("é=1\r\nb=2".encode())

    assert Machine().read(str(file)) == "é=1\r\nb=2"
    assert Machine().is_file(str(file))
    assert not Machine().is_file(str(tmp_path))
    assert Machine().exists(str(tmp_path))
    assert not Machine().exists(str(tmp_path / "none"))
    file.write_bytes(b"\xff")
    with pytest.raises(ValueError, match="UTF-8"):
        Machine().read(str(file))
    with pytest.raises(FileNotFoundError):
        Machine().read(str(tmp_path / "none"))
