from typing import Any

import numpy as np
import pytest

from trio_kafka.records.batch import HEADER_SIZE, Record, encode_batch
from trio_kafka.records.columnar.errors import MalformedRecordsError
from trio_kafka.records.columnar.locate import locate_records
from trio_kafka.records.columnar.parse import Records, Slices, parse_records


def parsed(
    batches: list[list[Record]], last: int | None = None, **options: Any
) -> tuple[bytes, Records]:
    contents = [encode_batch(batch)[HEADER_SIZE:] for batch in batches]
    data = b"".join(contents)
    end = np.cumsum([len(content) for content in contents])
    counts = np.array([len(batch) for batch in batches])
    view = np.frombuffer(data, np.uint8)
    starts = locate_records(view, np.append(0, end[:-1]), end, counts=counts)
    last_deltas = counts - 1 if last is None else np.full(len(counts), last)
    options = {"timestamps": True, "last_deltas": last_deltas, **options}
    return data, parse_records(view, starts, end=end, counts=counts, **options)


def contents(data: bytes, slices: Slices) -> list[bytes | None]:
    return [
        None if length < 0 else data[begin : begin + length]
        for begin, length in zip(slices.begin.tolist(), slices.length.tolist(), strict=True)
    ]


# More than a vector of headers is good for, and records with many headers at the end.
RECORDS = [
    Record(
        offset=2 * n,
        timestamp=7 * n * n,
        key=None if n % 3 else b"key",
        value=b"v" * (n * 10) if n % 4 else None,
        headers=[("h" * (n % 5), b"x" if n % 2 else None)] * (n % 4 if n < 30 else n),
    )
    for n in range(40)
]


@pytest.mark.parametrize("batches", [[RECORDS], [RECORDS[:1], RECORDS[:30], RECORDS]])
def test_parse_records_finds_the_fields_of_all_records(batches: list[list[Record]]) -> None:
    every = [record for batch in batches for record in batch]

    data, result = parsed(batches, last=78)

    assert result.timestamp_deltas is not None
    assert result.timestamp_deltas.tolist() == [record.timestamp for record in every]
    assert result.offset_deltas.tolist() == [record.offset for record in every]
    assert contents(data, result.keys) == [record.key for record in every]
    assert contents(data, result.values) == [record.value for record in every]
    assert result.headers is not None
    assert result.headers.counts.tolist() == [len(record.headers) for record in every]
    pairs = [pair for record in every for pair in record.headers]
    assert contents(data, result.headers.keys) == [name.encode() for name, _ in pairs]
    assert contents(data, result.headers.values) == [value for _, value in pairs]


def test_picked_records_keep_their_headers() -> None:
    expected = np.arange(40) % 3 == 1

    data, result = parsed([RECORDS], last=78)
    picked = result.pick(expected)

    records = [record for n, record in enumerate(RECORDS) if n % 3 == 1]
    assert picked.offset_deltas.tolist() == [record.offset for record in records]
    assert picked.headers is not None
    names = [name.encode() for record in records for name, _ in record.headers]
    assert contents(data, picked.headers.keys) == names


def test_timestamp_deltas_are_read_only_on_request() -> None:
    _, result = parsed([[Record(timestamp=5), Record(timestamp=1 << 60)]], timestamps=False)

    assert result.timestamp_deltas is None
    assert result.offset_deltas.tolist() == [0, 1]
    assert result.headers is None
    assert result.pick(np.array([True, False])).timestamp_deltas is None


def test_record_offset_beyond_the_last_offset_of_the_batch_is_malformed() -> None:
    assert parsed([[Record(), Record(offset=5)]], last=5)
    with pytest.raises(MalformedRecordsError):
        parsed([[Record(), Record(offset=5)]], last=4)


def test_record_offsets_must_ascend_only_within_each_batch() -> None:
    _, result = parsed([[Record()] * 3, [Record()], [Record()] * 2])

    assert result.offset_deltas.tolist() == [0, 1, 2, 0, 0, 1]


@pytest.mark.parametrize("wrong", [0, 5])
def test_records_that_do_not_end_with_their_batch_are_malformed(wrong: int) -> None:
    data = encode_batch([Record(value=b"12345")])[HEADER_SIZE:]

    with pytest.raises(MalformedRecordsError):
        parse_records(
            np.frombuffer(data + b"\0", np.uint8),
            np.array([0]),
            end=np.array([wrong or len(data) + 1]),
            counts=np.array([1]),
            last_deltas=np.array([0]),
            timestamps=True,
        )
