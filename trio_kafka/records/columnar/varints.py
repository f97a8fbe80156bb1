"""Zig-zag integers read at many positions at once.

Numbers of one and two bytes, the great majority, are read by dense vectors of small integers;
longer ones by a loop over their bytes.
Lengths of more than five bytes, which the row codec accepts and no Kafka client writes, are
rejected, as in Kafka.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trio_kafka.records.columnar.errors import MalformedRecordsError

Bytes: TypeAlias = NDArray[np.uint8]
Longs: TypeAlias = NDArray[np.int64]

LONGEST_INT: Final = 5
LONGEST_LONG: Final = 10
_MORE: Final = 0x80
_BITS: Final = 0x7F


def read_varints(data: Bytes, at: Longs, longest: int = LONGEST_INT) -> tuple[Longs, Longs]:
    """Return the number at each position, and the positions after them.

    at: not empty, none negative. Raises IndexError for a position outside of `data`, and
        MalformedRecordsError for a number of more than `longest` bytes or 64 bits.
    """
    first = data[at]
    after = at + 1
    if first.max() < _MORE:
        small = first.view(np.int8)
        return ((small >> 1) ^ -(small & 1)).astype(np.int64), after
    second = data.take(after, mode="clip")
    more = first >> 7
    after += more
    wide = (first & _BITS).astype(np.int16)
    wide |= ((second & _BITS) * more).astype(np.int16) << 7
    numbers = ((wide >> 1) ^ -(wide & 1)).astype(np.int64)
    both = first & second
    if both.max() >= _MORE:
        long = np.flatnonzero(both & _MORE)
        numbers[long], after[long] = _read_long(data, at[long], longest)
    return numbers, after


def skip_varints(data: Bytes, at: Longs, longest: int = LONGEST_INT) -> Longs:
    """Return the positions after the numbers at each position. Raises as `read_varints`."""
    first = data[at]
    after = at + 1
    if first.max() < _MORE:
        return after
    second = data.take(after, mode="clip")
    after += first >> 7
    both = first & second
    if both.max() >= _MORE:
        long = np.flatnonzero(both & _MORE)
        _, after[long] = _read_long(data, at[long], longest)
    return after


def _read_long(data: Bytes, at: Longs, longest: int) -> tuple[Longs, Longs]:
    """Read varints as `read_varints` does, byte by byte."""
    numbers = np.zeros(len(at), np.uint64)
    after = at.copy()
    pending = np.arange(len(at))
    for place in range(longest):
        byte = data.take(after[pending], mode="clip")
        if place == LONGEST_LONG - 1 and byte.max() > 1:
            raise MalformedRecordsError
        numbers[pending] |= (byte & _BITS).astype(np.uint64) << np.uint64(7 * place)
        after[pending] += 1
        pending = pending[byte >= _MORE]
        if not pending.size:
            return (numbers >> np.uint64(1)).view(np.int64) ^ -(numbers & np.uint64(1)).view(
                np.int64
            ), after
    raise MalformedRecordsError
