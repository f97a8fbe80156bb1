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
    view, slots = data.data, starts.data
    for chain, done, at in open_chains:
        slot = int(first[chain])
        _follow(view, at, int(end[chain]), slots=slots[slot + done : slot + int(counts[chain])])
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
    words: NDArray[np.uint16] = np.ndarray((len(data) - 1,), "<u2", buffer=data, strides=(1,))
    advances = _advances()
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


def _follow(data: memoryview, at: int, end: int, *, slots: memoryview) -> None:
    """Fill `slots` with the records from `at` on. Stop at an invalid length."""
    last = end - _SMALLEST
    for slot in range(len(slots)):
        if at > last:
            return
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
                return
        if length < _SMALLEST:
            return
        at += length
