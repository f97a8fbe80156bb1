from pathlib import Path

import pytest
from attrs import evolve

from tests.clients.records import (
    ReadRecord,
    Record,
    compare,
    load_found,
    load_records,
    many,
    save_found,
    save_records,
)

WRITTEN = [
    Record(partition=0, timestamp=5, key=b"a", value=None, headers=(("h", b"\xff"), ("h", None))),
    Record(partition=1, key=None, value=b""),
    Record(partition=0, key=b"", value=b"\x00\xff"),
]
READ = [
    ReadRecord(offset=0, record=evolve(WRITTEN[1], timestamp=100)),
    ReadRecord(offset=0, record=WRITTEN[0]),
    ReadRecord(offset=1, record=evolve(WRITTEN[2], timestamp=200)),
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    save_records(tmp_path / "written", WRITTEN)
    return tmp_path / "written"


def read(written: Path, entries: list[ReadRecord]) -> Path:
    file = written.with_name("read")
    assert save_found(file, entries) == len(entries)
    return file


def test_records_are_loaded_as_they_were_saved(written: Path) -> None:
    assert list(load_records(written)) == WRITTEN
    assert list(load_found(read(written, READ))) == READ


def test_records_are_compared_in_order_within_each_partition(written: Path) -> None:
    compare(written, read(written, READ), 100, 200)
    compare(written, read(written, READ[1:]), 100, 200, only={0})


@pytest.mark.parametrize(
    ("n", "change"),
    [
        (0, {"offset": 1}),
        (0, {"record": evolve(READ[0].record, timestamp=99)}),
        (0, {"record": evolve(READ[0].record, value=None)}),
        (0, {"record": evolve(READ[0].record, key=b"")}),
        (1, {"record": evolve(READ[1].record, timestamp=6)}),
        (1, {"record": evolve(READ[1].record, headers=READ[1].record.headers[:1])}),
        (1, {"record": evolve(READ[1].record, headers=READ[1].record.headers[::-1])}),
        (2, {"record": evolve(READ[2].record, timestamp=201)}),
        (2, {"record": evolve(READ[2].record, value=b"\x00\xfe")}),
    ],
)
def test_a_difference_in_any_field_of_a_record_fails_the_comparison(
    written: Path, n: int, change: dict[str, object]
) -> None:
    result = [*READ]
    result[n] = evolve(result[n], **change)

    with pytest.raises(AssertionError):
        compare(written, read(written, result), 100, 200)


@pytest.mark.parametrize("entries", [READ[:2], READ[1:], [*READ, READ[2]], READ[::-1]])
def test_missing_repeated_or_reordered_records_fail_the_comparison(
    written: Path, entries: list[ReadRecord]
) -> None:
    with pytest.raises(AssertionError):
        compare(written, read(written, entries), 100, 200)


def test_many_generates_the_same_distinct_records_each_time() -> None:
    records = list(many(3000, 7))

    assert records == list(many(3000, 7))
    assert len({record.key for record in records}) == 3000
    assert {record.partition for record in records} == {7}
    assert sum(record.value == b"" for record in records) == 2
