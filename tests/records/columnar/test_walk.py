from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.records.columnar.kit import END
from tests.records.kit import encode_batch
from trio_kafka.errors import ErrorCode
from trio_kafka.records.batch import Record, iterate_headers, read_header
from trio_kafka.records.columnar.errors import CorruptBatchError
from trio_kafka.records.columnar.walk import as_bytes, gather_headers, next_offset, walk

DATA = Path(__file__).parents[1] / "data"
FIRST = encode_batch([Record(value=b"1")], 5, last_offset=9)
SECOND = encode_batch(
    [Record(value=b"2")] * 2, 10, producer_id=3, producer_epoch=1, base_sequence=0
)


@pytest.mark.parametrize("name", ["txn.log", "plain.log", "compacted.log"])
def test_walk_returns_the_same_headers_as_the_row_codec(name: str) -> None:
    log = memoryview((DATA / name).read_bytes())
    expected = list(iterate_headers(log))

    walked = walk(log)
    headers = gather_headers(log, walked.positions)

    assert walked.positions == [position for position, _ in expected]
    assert (walked.end, walked.error) == (len(log), None)
    for result, (_, header) in zip(headers, expected, strict=True):
        assert {name: result[name] for name in headers.dtype.names} == {
            name: getattr(header, name) for name in headers.dtype.names
        }


def test_gather_headers_of_no_positions_is_empty() -> None:
    assert len(gather_headers(memoryview(b""), [])) == 0


def test_walk_stops_at_the_end_offset() -> None:
    log = memoryview(FIRST + SECOND + b"\1" * 100)

    assert walk(log, 10).positions == [0]
    assert walk(log, 10).error is None
    assert walk(log, 11).positions == [0, len(FIRST)]
    assert walk(log, 11).error is not None


@given(st.integers(0, len(FIRST)))
def test_walk_leaves_out_a_truncated_last_batch(size: int) -> None:
    log = memoryview((SECOND + FIRST)[: len(SECOND) + size])

    walked = walk(log)

    assert walked.error is None
    assert len(walked.positions) == 1 + (size == len(FIRST))


@given(st.binary(max_size=80))
def test_walk_reports_the_same_error_as_the_row_codec(rest: bytes) -> None:
    log = memoryview(FIRST + rest)
    error = None
    try:
        reference = [position for position, _ in iterate_headers(log)]
    except Exception as raised:
        reference, error = [0], raised

    walked = walk(log)

    assert walked.positions == reference
    assert str(walked.error) == str(error)


@pytest.mark.parametrize("name", ["v0-gzip.bin", "v1-none.bin"])
def test_walk_reports_an_old_message_format_with_its_position(name: str) -> None:
    walked = walk(memoryview(FIRST + (DATA / name).read_bytes()))

    assert walked.error is not None
    assert walked.error.code is ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT
    assert walked.error.position == len(FIRST)


def test_next_offset_follows_the_last_whole_batch() -> None:
    assert next_offset(b"", 7) == 7
    assert next_offset(FIRST[:-1], 7) == 7
    assert next_offset(FIRST, 7) == 10
    assert next_offset(FIRST + SECOND[:-1], 7) == 10
    assert next_offset(bytearray(FIRST + SECOND), 7) == 12 == read_header(SECOND).next_offset


def test_next_offset_raises_corruption_for_an_invalid_header() -> None:
    with pytest.raises(CorruptBatchError, match="magic 1 at position"):
        next_offset(FIRST + b"\1" * 100, 0)


def test_memoryview_of_larger_items_is_cast_to_bytes() -> None:
    words = memoryview(bytes(16)).cast("q")

    assert as_bytes(words).format == "B"
    assert len(as_bytes(words)) == 16
    assert END == (1 << 63) - 1
