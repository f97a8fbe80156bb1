"""Arrow columns of parsed records.

Keys and values are taken from a binary array that is laid over the window itself, so their bytes
are copied once, in C++.
"""

from collections.abc import Collection
from typing import Final

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from trio_kafka.records.columnar.arrays import Number, as_arrow, as_bits
from trio_kafka.records.columnar.errors import MalformedRecordsError
from trio_kafka.records.columnar.parse import RecordHeaders, Slices, parse_records
from trio_kafka.records.columnar.schema import HEADERS, TIMESTAMP
from trio_kafka.records.columnar.varints import Longs
from trio_kafka.records.columnar.walk import END
from trio_kafka.records.columnar.windows import Window
from trio_kafka.records.header import LOG_APPEND_TIME

_US_PER_MS: Final = 1000
_LARGEST_MS: Final = ((1 << 63) - 1) // _US_PER_MS
_SAFE: Final = 1 << 62


def make_columns(
    window: Window,
    headers: NDArray[np.void],
    starts: Longs,
    *,
    names: Collection[str],
    start: int,
    stop: int,
) -> dict[str, pa.Array]:
    """Make columns of the records of a window with `start` <= offset < `stop`.

    headers, starts: of the batches and of the records in the window.
    Returns the requested columns that are not constant, and always the offset.
    Raises MalformedRecordsError or IndexError if a batch is malformed.
    """
    counts = headers["count"].astype(np.int64)
    base = headers["base_offset"].astype(np.int64)
    last_deltas = headers["last_offset_delta"].astype(np.int64)
    if (base > END - np.maximum(last_deltas, 0)).any():
        raise MalformedRecordsError
    records = parse_records(
        window.data,
        starts,
        end=window.end,
        counts=counts,
        last_deltas=last_deltas,
        timestamps="timestamp" in names,
    )
    offsets = np.repeat(base, counts) + records.offset_deltas
    inside: NDArray[np.bool_] | None = None
    if offsets.min() < start or offsets.max() >= stop:
        inside = (offsets >= start) & (offsets < stop)
        records, offsets = records.pick(inside), offsets[inside]

    def spread(values: NDArray[Number]) -> NDArray[Number]:
        """Repeat the value of each batch for its records."""
        every = np.repeat(values, counts)
        return every if inside is None else every[inside]

    columns = {"offset": as_arrow(offsets, pa.int64())}
    appended = (headers["attributes"] & LOG_APPEND_TIME) != 0
    if records.timestamp_deltas is not None:
        base_times = np.where(appended, headers["max_timestamp"], headers["base_timestamp"])
        deltas = records.timestamp_deltas
        if appended.any():
            deltas = np.where(spread(appended), 0, deltas)
        columns["timestamp"] = make_timestamps(spread(base_times), deltas)
    if "timestampType" in names:
        columns["timestampType"] = as_arrow(spread(appended.astype(np.int32)), pa.int32())
    if "key" in names:
        columns["key"] = take_bytes(window.arrow, records.keys)
    if "value" in names:
        columns["value"] = take_bytes(window.arrow, records.values)
    if "headers" in names:
        columns["headers"] = (
            pa.nulls(len(offsets), HEADERS)
            if records.headers is None
            else make_headers(window.arrow, records.headers)
        )
    return columns


def take_bytes(memory: pa.Buffer, slices: Slices) -> pa.Array:
    """Make a binary array of `slices` of `memory`, which ascend and do not overlap."""
    size = len(slices.begin)
    least = slices.length.min() if size else 0
    if least < 0 and slices.length.max() < 0:
        return pa.nulls(size, pa.binary())
    # Every other element is the gap between two slices.
    offsets = np.empty(2 * size, np.int32)
    offsets[0::2] = slices.begin
    offsets[1::2] = slices.begin + np.maximum(slices.length, 0)
    laid = pa.Array.from_buffers(
        pa.binary(), max(2 * size - 1, 0), [None, pa.py_buffer(offsets), memory]
    )
    picked = np.arange(0, 2 * size, 2, dtype=np.int32)
    return laid.take(as_arrow(picked, pa.int32(), slices.length < 0 if least < 0 else None))


def make_timestamps(base: Longs, deltas: Longs) -> pa.Array:
    """Make timestamps of milliseconds, base and delta. Times out of Arrow's range are null.

    The range ends in the year 294247; nanoseconds of a producer exceed it.
    """
    times = base + deltas
    outside: NDArray[np.bool_] | None = None
    if not times.size:
        return as_arrow(times, TIMESTAMP)
    if times.min() < -_LARGEST_MS or times.max() > _LARGEST_MS or _may_wrap(base, deltas):
        outside = (times < -_LARGEST_MS) | (times > _LARGEST_MS)
        outside |= ((base ^ times) & (deltas ^ times)) < 0  # the sum has overflowed
    return as_arrow(times * _US_PER_MS, TIMESTAMP, outside)


def _may_wrap(*numbers: Longs) -> bool:
    return any(array.min() < -_SAFE or array.max() > _SAFE for array in numbers)


def make_headers(memory: pa.Buffer, headers: RecordHeaders) -> pa.Array:
    """Make the list of headers of each record; null for a record without headers, as in Spark."""
    counts = headers.counts
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    names = _as_text(take_bytes(memory, headers.keys))
    children = [names, take_bytes(memory, headers.values)]
    pairs = pa.StructArray.from_arrays(children, fields=list(HEADERS.value_type))
    buffers = [as_bits(counts > 0), pa.py_buffer(offsets)]
    return pa.Array.from_buffers(HEADERS, len(counts), buffers, children=[pairs])


def _as_text(names: pa.Array) -> pa.Array:
    """Convert header names to strings. Bytes that are not UTF-8 become U+FFFD, as in Kafka's
    clients.
    """
    text = names.view(pa.string())
    try:
        text.validate(full=True)
    except pa.ArrowInvalid:
        return pa.array([name.as_py().decode(errors="replace") for name in names], pa.string())
    return text
