"""Positions of the records of many batches.

A record's length gives the position of the next one, so a batch is a chain. The chains of many
batches are followed in lockstep: step k is one vector operation over the k-th records of all
batches. `parse` proves each position, so here only reads outside of the data are prevented.
"""

from functools import cache
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trio_kafka.records.columnar.varints import Bytes, Longs
from trio_kafka.records.varint import read_varint

# With fewer chains, a step of numpy costs more than as many steps of Python.
_FEW: Final = 32
_SMALLEST: Final = 6
_LONGEST_PAUSE: Final = 1024  # records between two looks for a run


def locate_records(data: Bytes, begin: Longs, end: Longs, *, counts: Longs) -> Longs:
    """Return the position of each record of some batches, in order: `counts.sum()` in all.

    begin, end: of the records of each batch, within `data`. counts: at least 1 each. Positions in a
        malformed batch are arbitrary, but not negative.
    """
    first = np.zeros(len(counts), np.int64)
    np.cumsum(counts[:-1], out=first[1:])
    starts = np.zeros(int(counts.sum()), np.int64)
    if len(counts) < _FEW:
        open_chains = [(chain, 0, at) for chain, at in enumerate(begin.tolist())]
    else:
        open_chains = _follow_in_lockstep(data, (begin, end, counts, first), starts)
    for chain, done, at in open_chains:
        slot = int(first[chain])
        slots = starts[slot + done : slot + int(counts[chain])]
        _follow_in_runs(data, at, int(end[chain]), slots=slots)
    return starts


def _follow_in_lockstep(
    data: Bytes, chains: tuple[Longs, Longs, Longs, Longs], starts: Longs
) -> list[tuple[int, int, int]]:
    """Fill `starts` while many chains are left.

    chains: begin, end, count and first slot of each.
    Returns the chains that continue: how many records were found, and the next position.
    """
    begin, end, counts, first = chains
    order = np.argsort(-counts, kind="stable")
    counts = counts[order]
    steps = int(counts[_FEW - 1])
    at = every = begin[order]
    slot = first[order]
    words, advances = _words(data), _advances()
    try:
        # The longest chains come first: those that have a k-th record are a prefix.
        for width in np.searchsorted(-counts, -np.arange(steps), side="left").tolist():
            if width < len(at):
                at, slot = at[:width], slot[:width]
            starts[slot] = at
            at += advances.take(words[at])
            slot += 1
    except IndexError:  # a malformed chain has left the data
        return [(chain, 0, at) for chain, at in enumerate(begin.tolist())]
    stuck = starts[first[order] + np.minimum(counts, steps) - 1] == every
    unfinished = np.flatnonzero(every != end[order])
    return [
        (chain, 0, int(begin[chain])) if again else (chain, steps, at)
        for chain, at, again in zip(
            order[unfinished].tolist(),
            every[unfinished].tolist(),
            (stuck | (counts <= steps))[unfinished].tolist(),
            strict=True,
        )
    ]


def _words(data: Bytes) -> NDArray[np.uint16]:
    """Return the two bytes at each position as a number, without a copy."""
    return np.ndarray((len(data) - 1,), "<u2", buffer=data, strides=(1,))


@cache
def _advances() -> Longs:
    """Return the distance to the next record by the first two bytes of this one; 0 if it
    takes more.
    """
    word = np.arange(1 << 16, dtype=np.int64)
    first, second = word & 0xFF, word >> 8
    is_single = first < 0x80
    number = np.where(is_single, first, first & 0x7F | (second & 0x7F) << 7)
    fits = (is_single | (second < 0x80)) & (number & 1 == 0)
    return np.where(fits, (number >> 1) + np.where(is_single, 1, 2), 0)


def _follow_in_runs(data: Bytes, at: int, end: int, *, slots: Longs) -> None:
    """Fill `slots` with the records from `at` on. Stop at an invalid length.

    The first two bytes lead from record to record. So where they are the same at equal distances,
    as with values of one size, the records between are found by one vector operation. They are
    looked for less and less often where sizes differ.
    """
    view, places = data.data, slots.data
    words, advances = _words(data), _advances()
    slot, pause = 0, _FEW
    while slot < len(slots) and 0 <= at <= end - _SMALLEST:
        run, advance = _run_of(words, advances, at, end=end, most=len(slots) - slot)
        slots[slot : slot + run] = np.arange(at, at + run * advance, advance)[:run]
        slot, at = slot + run, at + run * advance
        pause = _FEW if run else min(2 * pause, _LONGEST_PAUSE)
        steps = places[slot : slot + pause]
        at = _follow(view, at, end, slots=steps)
        slot += len(steps)


def _run_of(
    words: NDArray[np.uint16], advances: Longs, at: int, *, end: int, most: int
) -> tuple[int, int]:
    """Return how many records begin as the one at `at` does, and their distance; 0 if it is few.

    most: records to look at.
    """
    word = words[at]
    advance = int(advances[word])
    if advance <= _SMALLEST:
        return 0, 1
    most = min(most, (end - _SMALLEST - at) // advance + 1)
    width = _FEW
    while True:
        same = words[at : at + advance * min(width, most) : advance] == word
        run = len(same) if same.all() else int(same.argmin())
        if run < width or run == most:
            return (run if run == most or run >= _FEW else 0), advance
        width *= _FEW


def _follow(data: memoryview, at: int, end: int, *, slots: memoryview) -> int:
    """Fill `slots` with the records from `at` on; return the position behind them, -1 at an invalid
    length.
    """
    last = end - _SMALLEST
    for slot in range(len(slots)):
        if at > last:
            return -1
        slots[slot] = at
        first, second = data[at], data[at + 1]
        if first < 0x80:
            length, at = first >> 1, at + 1
        elif second < 0x80:
            length, at = (first & 0x7F | second << 7) >> 1, at + 2
        else:
            try:
                length, at = read_varint(data, at)
            except (IndexError, ValueError):
                return -1
        if length < _SMALLEST:
            return -1
        at += length
    return at
