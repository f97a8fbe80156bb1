"""Zig-zag integers of many rows at once, and lengths of Arrow's binary arrays."""

from collections.abc import Sequence
from functools import cache
from typing import Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trio_kafka.records.columnar.arrays import nulls_of
from trio_kafka.records.columnar.varints import Longs

Piece: TypeAlias = pa.Array | pa.Scalar
LARGE: Final = pa.large_binary()
_BITS: Final = 7
_LOW: Final = 0x7F
_MORE: Final = 0x80


def varint_sizes(numbers: Longs) -> Longs:
    """Return the size of the zig-zag encoding of each number."""
    sizes = np.ones(len(numbers), np.int64)
    if not sizes.size:
        return sizes
    low, high = int(numbers.min()), int(numbers.max())
    # The zig-zag form of a number, without its lowest bit.
    halves = numbers if low >= 0 else numbers ^ (numbers >> 63)
    most, bits = max(high, ~low), _BITS - 1
    while most >> bits:
        sizes += halves >= 1 << bits
        bits += _BITS
    return sizes


def pack_varints(columns: Sequence[Longs], sizes: Sequence[Longs]) -> pa.Array:
    """Return a binary array: each row holds the zig-zag encodings of one number of each column.

    columns: at least one, of one length, with the `varint_sizes` of each.
    """
    offsets = np.zeros(len(columns[0]) + 1, np.int64)
    np.cumsum(sum(sizes[1:], start=sizes[0]), out=offsets[1:])
    packed = np.zeros(int(offsets[-1]), np.uint8)
    at = offsets[:-1].copy()
    for numbers, size in zip(columns, sizes, strict=True):
        if numbers.any():
            _write(packed, at, numbers, size=size)
        at += size
    return as_binary(offsets, pa.py_buffer(packed))


def _write(packed: NDArray[np.uint8], at: Longs, numbers: Longs, *, size: Longs) -> None:
    longest = int(size.max())
    if longest == 1:
        small = numbers.astype(np.int8)
        packed[at] = ((small << 1) ^ (small >> 7)).view(np.uint8)
        return
    zigzag = ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)
    more = (size > 1) * np.uint8(_MORE)
    packed[at] = (zigzag.astype(np.uint8) & np.uint8(_LOW)) | more
    for place in range(1, longest):
        rows = np.flatnonzero(size > place)
        byte = (zigzag[rows] >> np.uint64(_BITS * place)).astype(np.uint8) & np.uint8(_LOW)
        byte |= (size[rows] > place + 1) * np.uint8(_MORE)
        packed[at[rows] + place] = byte


def as_binary(offsets: Longs, data: pa.Buffer) -> pa.Array:
    """Return a large binary array of `data`, without nulls. offsets: one more than elements."""
    return pa.Array.from_buffers(LARGE, len(offsets) - 1, [None, pa.py_buffer(offsets), data])


@cache
def one_binary(content: bytes) -> pa.Scalar:
    """Return a scalar for `join_rows`."""
    return as_binary(np.array([0, len(content)]), pa.py_buffer(content))[0]


def offsets_of(array: pa.Array) -> Longs:
    """Return the offsets of a non-empty large binary array into its data buffer."""
    _, offsets, _ = array.buffers()
    return np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]


def lengths_of(array: pa.Array) -> Longs:
    """Return the length of each element of a large binary array; -1 for null."""
    lengths = np.diff(offsets_of(array)) if len(array) else np.empty(0, np.int64)
    if array.null_count:
        lengths[nulls_of(array)] = -1
    return lengths


def join_rows(pieces: Sequence[Piece]) -> pa.Array:
    """Concatenate large binary arrays and scalars row by row; null counts as empty."""
    return pc.binary_join_element_wise(
        *pieces, one_binary(b""), null_handling="replace", null_replacement=""
    )
