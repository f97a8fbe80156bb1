import numpy as np
import pyarrow as pa

from trio_kafka.records.columnar.columns import make_headers, make_timestamps, take_bytes
from trio_kafka.records.columnar.parse import RecordHeaders, Slices

MEMORY = pa.py_buffer(b"abcdefgh\xff")


def slices(*pairs: tuple[int, int]) -> Slices:
    result = np.array(pairs, np.int64).reshape(-1, 2)
    return Slices(result[:, 0], result[:, 1])


def test_take_bytes_returns_the_sliced_bytes_with_nulls_for_negative_lengths() -> None:
    taken = take_bytes(MEMORY, slices((0, 2), (2, -1), (3, 0), (5, 3)))

    assert taken.type == pa.binary()
    assert taken.to_pylist() == [b"ab", None, b"", b"fgh"]
    assert taken.null_count == 1


def test_take_bytes_accepts_slices_that_are_all_null_or_empty() -> None:
    assert take_bytes(MEMORY, slices((0, -1), (2, -1))).to_pylist() == [None, None]
    assert take_bytes(MEMORY, slices()).to_pylist() == []
    assert take_bytes(MEMORY, slices((1, 1))).null_count == 0


def test_timestamps_become_microseconds_and_are_null_when_out_of_range() -> None:
    most = ((1 << 63) - 1) // 1000
    latest = (1 << 63) - 1
    base = np.array([0, most, most, -most, -most, latest, latest])
    deltas = np.array([5, 0, 1, 0, -1, 1, latest])  # the last sum wraps to -2

    times = make_timestamps(base, deltas)

    assert times.view(pa.int64()).to_pylist() == [
        5000,
        most * 1000,
        None,
        -most * 1000,
        None,
        None,
        None,
    ]
    assert make_timestamps(base[:0], deltas[:0]).to_pylist() == []


def test_record_without_headers_has_null_in_the_headers_column() -> None:
    headers = RecordHeaders(
        counts=np.array([0, 2, 1]),
        keys=slices((0, 1), (2, 2), (8, 1)),
        values=slices((1, 1), (4, -1), (9, 0)),
    )

    array = make_headers(MEMORY, headers)

    assert array.to_pylist() == [
        None,
        [{"key": "a", "value": b"b"}, {"key": "cd", "value": None}],
        [{"key": "\ufffd", "value": b""}],
    ]
    array.validate(full=True)
