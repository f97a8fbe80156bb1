from pathlib import Path
from struct import pack

import pytest

from tests.cli.log.kit import extract
from trio_kafka.cli.log.entries import DamagedFileError, Entry, read_entries
from trio_kafka.cli.log.places import classify


def entries(path: Path) -> list[Entry]:
    file = classify(path)
    assert file is not None
    return list(read_entries(file))


def written(folder: Path, name: str, content: bytes) -> Path:
    (folder / name).write_bytes(content)
    return folder / name


def test_preallocated_zeros_of_an_index_are_not_entries(tmp_path: Path) -> None:
    folder = extract("running_indexes", tmp_path) / "txn-0"

    offsets = entries(folder / f"{5:020}.index")
    times = entries(folder / f"{5:020}.timeindex")

    assert [offset["offset"] for offset in offsets] == [11, 17, 27, 28]
    assert 0 < len(times) < 10
    assert all(time["timestamp"] > 0 for time in times)


def test_index_larger_than_many_slices_is_read_to_its_end(tmp_path: Path) -> None:
    content = b"".join(pack(">II", number, number * 100) for number in range(1, 10_001))

    result = entries(written(tmp_path, f"{7:020}.index", content))

    assert len(result) == 10_000
    assert result[-1] == {"offset": 10_007, "position": 1_000_000}


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("00000000000000000000.index", bytes(8) + b"\0" * 3, "multiple of 8"),
        ("00000000000000000000.timeindex", b"\1" * 13, "multiple of 12"),
        ("00000000000000000000.txnindex", b"\1" * 34, "version 257"),
        ("00000000000000000000.snapshot", b"", "0 bytes"),
        ("00000000000000000000.snapshot", pack(">hIi", 2, 0, 0), "version 2"),
        ("00000000000000000000.snapshot", pack(">hIi", 1, 0, 5), "for 5 producers"),
        ("00000000000000000000.snapshot", pack(">hIi", 1, 0, 0), "crc"),
        ("leader-epoch-checkpoint", b"1\n0\n", "line 1"),
        ("leader-epoch-checkpoint", b"0\n2\n0 0\n", "line 4"),
        ("replication-offset-checkpoint", b"0\n1\nt x 0\n", "line 3"),
        ("partition.metadata", b"version: 1\n", "version 0"),
        ("meta.properties", b"version=1\n", "node.id is missing"),
        ("quorum-state", b"{", "quorum-state"),
        pytest.param("quorum-state", b"[" * 200_000, "quorum-state", id="nested quorum-state"),
        (".kafka_cleanshutdown", b"[]", "want an object"),
        (".kafka_cleanshutdown", b"{", "no JSON"),
        pytest.param(".kafka_cleanshutdown", b"[" * 200_000, "no JSON", id="nested mark"),
    ],
)
def test_damaged_file_is_refused_with_the_cause(
    name: str, content: bytes, text: str, tmp_path: Path
) -> None:
    with pytest.raises(DamagedFileError, match=text):
        entries(written(tmp_path, name, content))


def test_empty_clean_shutdown_file_is_not_damage(tmp_path: Path) -> None:
    assert entries(written(tmp_path, ".kafka_cleanshutdown", b"")) == [{}]
