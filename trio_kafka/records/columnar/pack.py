"""Write zig-zag integers for many rows at once, and lengths of Arrow's binary arrays."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from trio_kafka.records.columnar.varints import Longs

LARGE: Final = pa.large_binary()
_BITS: Final = 7
_LOW: Final = 0x7F
_MORE: Final = 0x80
_NOTHING: Final = pa.scalar(b"", LARGE)


def varint_sizes(numbers: Longs) -> Longs:
    """Bytes of the zig-zag encoding of each number."""
    zigzag = _zigzag(numbers)
    sizes = np.ones(len(numbers), np.int64)
    most, bits = int(zigzag.max(initial=0)), _BITS
    while most >> bits:
        sizes += zigzag >= np.uint64(1 << bits)
        bits += _BITS
    return sizes


def pack_varints(columns: Sequence[Longs], sizes: Sequence[Longs]) -> pa.Array:
    """A binary array: each row holds the zig-zag encodings of one number of each column.

    columns: at least one, of one length, with the `varint_sizes` of each.
    """
    offsets = np.zeros(len(columns[0]) + 1, np.int64)
    np.cumsum(sum(sizes[1:], start=sizes[0]), out=offsets[1:])
    packed = np.zeros(int(offsets[-1]), np.uint8)
    at = offsets[:-1].copy()
    for numbers, size in zip(columns, sizes, strict=True):
        if numbers.any():
            _write(packed, at, _zigzag(numbers), size)
        at += size
    return as_binary(offsets, pa.py_buffer(packed))


def _write(packed: NDArray[np.uint8], at: Longs, zigzag: NDArray[np.uint64], size: Longs) -> None:
    longest = int(size.max())
    if longest == 1:
        packed[at] = zigzag.astype(np.uint8)
        return
    more = (size > 1) * np.uint8(_MORE)
    packed[at] = (zigzag & np.uint64(_LOW)).astype(np.uint8) | more
    for place in range(1, longest):
        rows = np.flatnonzero(size > place)
        byte = (zigzag[rows] >> np.uint64(_BITS * place) & np.uint64(_LOW)).astype(np.uint8)
        byte |= (size[rows] > place + 1) * np.uint8(_MORE)
        packed[at[rows] + place] = byte


def _zigzag(numbers: Longs) -> NDArray[np.uint64]:
    return ((numbers << 1) ^ (numbers >> 63)).view(np.uint64)


def as_binary(offsets: Longs, data: pa.Buffer) -> pa.Array:
    """A large binary array of `data`, without nulls. offsets: one more than elements."""
    return pa.Array.from_buffers(LARGE, len(offsets) - 1, [None, pa.py_buffer(offsets), data])


def offsets_of(array: pa.Array) -> Longs:
    """Offsets of a large binary array that is not empty, into its data buffer."""
    _, offsets, _ = array.buffers()
    return np.frombuffer(offsets, np.int64)[array.offset : array.offset + len(array) + 1]


def lengths_of(array: pa.Array) -> Longs:
    """Length of each element of a large binary array; -1 for null."""
    lengths = np.diff(offsets_of(array)) if len(array) else np.empty(0, np.int64)
    if array.null_count:
        lengths[array.is_null().to_numpy(zero_copy_only=False)] = -1
    return lengths


def join_rows(pieces: Sequence[Any]) -> Any:
    """Concatenate large binary arrays and scalars row by row; null counts as empty."""
    return pc.binary_join_element_wise(
        *pieces, _NOTHING, null_handling="replace", null_replacement=""
    )
