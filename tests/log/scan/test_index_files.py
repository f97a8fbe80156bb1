from pathlib import Path
from struct import pack

import pytest

from trio_kafka.log.index import offset, time, transaction
from trio_kafka.log.scan.index_files import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    entries_of,
    remainder,
)
from trio_kafka.world.blocking_file import open_reader


def test_all_entries_of_a_long_file_are_read_in_their_order(tmp_path: Path) -> None:
    path = tmp_path / "x"
    path.write_bytes(b"".join(pack(">II", number, number * 100) for number in range(50_000)))

    with open_reader(path) as file:
        entries = list(entries_of(file, OFFSET_ENTRY))

    assert entries == [(number, number * 100) for number in range(50_000)]


@pytest.mark.parametrize("rest", range(12))
def test_bytes_after_the_last_whole_entry_are_counted_and_are_no_entry(
    tmp_path: Path, rest: int
) -> None:
    path = tmp_path / "x"
    path.write_bytes(pack(">qIqI", 1, 2, 3, 4) + b"\1" * rest)

    with open_reader(path) as file:
        assert list(entries_of(file, TIME_ENTRY)) == [(1, 2), (3, 4)]
        assert remainder(file, TIME_ENTRY) == rest


def test_an_empty_file_has_no_entries(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"")

    with open_reader(tmp_path / "x") as file:
        assert list(entries_of(file, ABORTED_ENTRY)) == []


def test_index_entries_have_the_same_layout_in_the_scan_and_in_the_broker() -> None:
    assert (offset.ENTRY, time.ENTRY, transaction.ENTRY) == (
        OFFSET_ENTRY,
        TIME_ENTRY,
        ABORTED_ENTRY,
    )
