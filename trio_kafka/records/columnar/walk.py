"""Whole batches of a buffer, and their headers as one numpy array.

One Python step for each batch reads base offset, length and magic; numpy gathers the other fields
of all headers at once. Headers are hostile: the walk ends at the first invalid one, and keeps its
error until the batches before it have been used.
"""

import struct
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.records.columnar.errors import CorruptBatchError, corrupt_batch
from trio_kafka.records.header import (
    HEADER_SIZE,
    LENGTH_END,
    SMALLEST_LENGTH,
    iterate_headers,
    read_header,
)
from trio_kafka.world.protocols import Buffer

END: Final = (1 << 63) - 1
_START: Final = struct.Struct(">qiib")  # base offset, length, leader epoch, magic
_MAGIC: Final = 2
_FIELDS: Final = np.dtype(
    [
        ("base_offset", ">i8"),
        ("length", ">i4"),
        ("leader_epoch", ">i4"),
        ("magic", "i1"),
        ("crc", ">u4"),
        ("attributes", ">i2"),
        ("last_offset_delta", ">i4"),
        ("base_timestamp", ">i8"),
        ("max_timestamp", ">i8"),
        ("producer_id", ">i8"),
        ("producer_epoch", ">i2"),
        ("base_sequence", ">i4"),
        ("count", ">i4"),
    ]
)
_NATIVE: Final = _FIELDS.newbyteorder("=")


@frozen(kw_only=True)
class WalkResult:
    """Positions of the whole batches of a buffer, and the error after the last one, if any.

    end: position after the last batch.
    """

    positions: list[int]
    end: int
    error: CorruptBatchError | None


def as_bytes(buffer: Buffer) -> memoryview:
    """Return a view of single bytes of any contiguous buffer."""
    view = memoryview(buffer)
    return view if view.ndim == 1 and view.format == "B" else view.cast("B")


def walk(data: memoryview, stop: int = END) -> WalkResult:
    """Find the whole batches of `data`, up to the first with a base offset of `stop` or more.

    A last partial batch is ignored, as by `iterate_headers`.
    """
    read = _START.unpack_from
    positions: list[int] = []
    at, size = 0, len(data)
    while size - at >= HEADER_SIZE:
        base, length, _, magic = read(data, at)
        if magic != _MAGIC or length < SMALLEST_LENGTH:
            break
        if base >= stop:
            return WalkResult(positions=positions, end=at, error=None)
        after = at + LENGTH_END + length
        if after > size:
            break
        positions.append(at)
        at = after
    return WalkResult(positions=positions, end=at, error=_error_at(data, at))


def _error_at(data: memoryview, at: int) -> CorruptBatchError | None:
    """Return the row codec's error for the bytes after the last whole batch, if any."""
    try:
        next(iterate_headers(data, at), None)
    except KafkaError as error:
        return corrupt_batch(error, at)
    return None


def gather_headers(data: memoryview, positions: list[int]) -> NDArray[np.void]:
    """Return the fields of the headers at `positions`, as one structured array in native byte
    order.
    """
    if not positions:
        return np.empty(0, _NATIVE)
    every: NDArray[np.void] = np.ndarray(
        (len(data) - HEADER_SIZE + 1,), _FIELDS, buffer=data, strides=(1,)
    )
    return every[np.array(positions, np.int64)].astype(_NATIVE)


def next_offset(buffer: Buffer, default: int) -> int:
    """Return the offset after the last whole batch of `buffer`; `default` if there is none.

    Raises CorruptBatchError for an invalid header before or after that batch.
    """
    data = as_bytes(buffer)
    walked = walk(data)
    if walked.error is not None:
        raise walked.error
    return read_header(data, walked.positions[-1]).next_offset if walked.positions else default
