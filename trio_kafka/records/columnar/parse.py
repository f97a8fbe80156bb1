"""Parser of records as vectors, which also proves that they are well formed.

The rules are those of `batch.decode_records`, for all records at once: each record ends where the
    next one begins, the last one where its batch ends; no field reaches outside of its record;
    offsets ascend. Positions only grow from field to field, so an invalid length moves the end of
    its record. One comparison at the end detects it.
"""

from typing import Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from trio_kafka.attributes import frozen
from trio_kafka.records.columnar.errors import MalformedRecordsError
from trio_kafka.records.columnar.varints import (
    LONGEST_LONG,
    Bytes,
    Longs,
    read_varints,
    skip_varints,
)
from trio_kafka.records.varint import read_varint

Mask: TypeAlias = NDArray[np.bool_]

_NULL: Final = -1
_FEW: Final = 16  # with fewer records, a step of numpy costs more than as many steps of Python


@frozen
class Slices:
    """Byte strings within the data: begin and length of each, -1 for null."""

    begin: Longs
    length: Longs

    def pick(self, mask: Mask) -> "Slices":
        return Slices(self.begin[mask], self.length[mask])


@frozen(kw_only=True)
class RecordHeaders:
    """Headers of all records, in order; `counts` has the number of headers of each record."""

    counts: Longs
    keys: Slices
    values: Slices

    def pick(self, mask: Mask) -> "RecordHeaders":
        """Return the headers of the selected records."""
        entries = np.repeat(mask, self.counts)
        return RecordHeaders(
            counts=self.counts[mask],
            keys=self.keys.pick(entries),
            values=self.values.pick(entries),
        )


@frozen(kw_only=True)
class Records:
    """Records as vectors of one length. timestamp_deltas: None if not requested."""

    timestamp_deltas: Longs | None
    offset_deltas: Longs
    keys: Slices
    values: Slices
    headers: RecordHeaders | None  # None: no record has headers

    def pick(self, mask: Mask) -> "Records":
        """Return the selected records."""
        deltas, headers = self.timestamp_deltas, self.headers
        return Records(
            timestamp_deltas=None if deltas is None else deltas[mask],
            offset_deltas=self.offset_deltas[mask],
            keys=self.keys.pick(mask),
            values=self.values.pick(mask),
            headers=None if headers is None else headers.pick(mask),
        )


def parse_records(
    data: Bytes,
    starts: Longs,
    *,
    end: Longs,
    counts: Longs,
    last_deltas: Longs,
    timestamps: bool,
) -> Records:
    """Parse the records at `starts`.

    end, counts, last_deltas: for each batch, the position after its records, their number (at least
        1), and the header's last offset delta.
    timestamps: whether to read the timestamps.
    Raises MalformedRecordsError or IndexError if a batch is malformed.
    """
    last = np.cumsum(counts) - 1
    ends = np.empty_like(starts)
    ends[:-1] = starts[1:]
    ends[last] = end
    length, at = read_varints(data, starts)
    if (at + length != ends).any():
        raise MalformedRecordsError
    at += 1  # no bit of the attributes is in use
    deltas = None
    if timestamps:
        deltas, at = read_varints(data, at, LONGEST_LONG)
    else:
        at = skip_varints(data, at, LONGEST_LONG)
    offsets, at = read_varints(data, at)
    _check_offsets(offsets, last, last_deltas)
    keys, at = _read_slices(data, at)
    values, at = _read_slices(data, at)
    number, at = read_varints(data, at)
    headers = None
    if number.any():
        headers, at = _read_headers(data, at, ends, counts=number)
    if (at != ends).any():
        raise MalformedRecordsError
    return Records(
        timestamp_deltas=deltas,
        offset_deltas=offsets,
        keys=keys,
        values=values,
        headers=headers,
    )


def _check_offsets(deltas: Longs, last: Longs, last_deltas: Longs) -> None:
    """Raise unless the deltas of each batch ascend from 0 or more to `last_deltas` or less."""
    ascends = deltas[1:] > deltas[:-1]
    ascends[last[:-1]] = True
    first = deltas[np.append(0, last[:-1] + 1)]
    if first.min() < 0 or (deltas[last] > last_deltas).any() or not ascends.all():
        raise MalformedRecordsError


def _read_slices(data: Bytes, at: Longs) -> tuple[Slices, Longs]:
    """Return keys or values, and the positions after them."""
    length, begin = read_varints(data, at)
    if length.min() < 0:
        return Slices(begin, np.maximum(length, _NULL)), begin + np.maximum(length, 0)
    return Slices(begin, length), begin + length


def _empty(size: int) -> Slices:
    return Slices(np.empty(size, np.int64), np.empty(size, np.int64))


def _read_headers(
    data: Bytes, at: Longs, ends: Longs, *, counts: Longs
) -> tuple[RecordHeaders, Longs]:
    """Return the headers of the records, and the positions after them.

    In lockstep: step k reads the k-th header of all records that have one.
    """
    if counts.min() < 0 or (counts > (ends - at) >> 1).any():
        raise MalformedRecordsError
    total = int(counts.sum())
    headers = RecordHeaders(counts=counts, keys=_empty(total), values=_empty(total))
    after = at.copy()
    row = np.flatnonzero(counts)
    at, remaining = at[row], counts[row]
    slot = (np.cumsum(counts) - counts)[row]
    while row.size >= _FEW:
        key, at = _read_slices(data, at)
        if key.length.min() < 0:
            raise MalformedRecordsError
        value, at = _read_slices(data, at)
        for slices, read in ((headers.keys, key), (headers.values, value)):
            slices.begin[slot] = read.begin
            slices.length[slot] = read.length
        after[row] = at
        remaining = remaining - 1
        go_on = remaining > 0
        row, at, remaining, slot = row[go_on], at[go_on], remaining[go_on], slot[go_on] + 1
    for record, position, number, place in zip(
        row.tolist(), at.tolist(), remaining.tolist(), slot.tolist(), strict=True
    ):
        after[record] = _follow_headers(
            data.data, position, range(place, place + number), headers=headers
        )
    return headers, after


def _follow_headers(
    data: memoryview, position: int, slots: range, *, headers: RecordHeaders
) -> int:
    """Fill the slots with the headers at `position`. Return the position after them."""
    for slot in slots:
        for slices in (headers.keys, headers.values):
            size, position = _read_length(data, position)
            if size < 0 and slices is headers.keys:
                raise MalformedRecordsError
            slices.begin[slot], slices.length[slot] = position, max(size, _NULL)
            position += max(size, 0)
    return position


def _read_length(data: memoryview, position: int) -> tuple[int, int]:
    try:
        return read_varint(data, position)
    except ValueError:
        raise MalformedRecordsError from None
