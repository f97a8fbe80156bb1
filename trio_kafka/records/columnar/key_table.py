"""Hash table from hashed keys to offsets, in one array: 24 bytes a slot, as in Kafka.

Open addressing with a second hash. All keys of a call probe in lockstep, so equal keys do so
together, and the last one wins.
"""

from itertools import count
from math import isqrt
from typing import Final

import numpy as np
from numpy.typing import NDArray

from trio_kafka.records.columnar.key_hash import Words
from trio_kafka.records.columnar.varints import Longs

SLOT_BYTES: Final = 24
_FIRST_SLOTS: Final = 1 << 16
_GROWTH: Final = 8  # little is held beside the new table
_MOVED: Final = 1 << 15
_FULLEST: Final = 0.9
_FIRST, _SECOND, _OFFSET = range(3)  # columns; the offset is stored plus one, 0 is a free slot


def largest_prime(most: int) -> int:
    """Return the largest prime up to `most`, at least 2."""
    for candidate in count(max(most, 2), -1):
        if all(candidate % divisor for divisor in range(2, isqrt(candidate) + 1)):
            return candidate
    raise AssertionError


class KeyTable:
    """Latest offsets of keys. capacity: how many keys may be added. keys: how many were.

    most_slots: with the whole buffer. The table begins small and grows, as few partitions need all.
    """

    def __init__(self, buffer_bytes: int, load_factor: float) -> None:
        self.most_slots = largest_prime(buffer_bytes // SLOT_BYTES)
        self.capacity = min(int(self.most_slots * load_factor), self.most_slots - 1)
        self.keys = 0
        self._resize(min(_FIRST_SLOTS, self.most_slots))

    def _resize(self, slots: int) -> None:
        """Begin an empty table. A prime number of slots lets any second hash visit all."""
        self._slots = largest_prime(slots)
        self._table: NDArray[np.uint64] = np.zeros((self._slots, 3), np.uint64)

    def _grow(self, keys: int) -> None:
        """Make the table large enough for so many keys."""
        slots = self._slots
        while keys > slots * _FULLEST and slots < self.most_slots:
            slots = min(slots * _GROWTH, self.most_slots)
        if slots == self._slots:
            return
        old, self.keys = self._table, 0
        self._resize(slots)
        for at in range(0, len(old), _MOVED):
            rows = old[at : at + _MOVED]
            rows = rows[rows[:, _OFFSET] != 0]
            offsets = rows[:, _OFFSET].astype(np.int64) - 1
            self._put(rows[:, _FIRST].copy(), rows[:, _SECOND].copy(), offsets)

    def _probe(self, first: Words, second: Words) -> tuple[Longs, Longs]:
        """Return the first place of each key, and the distance to the next ones."""
        places = (first % np.uint64(self._slots)).view(np.int64)
        strides = (second % np.uint64(self._slots - 1)).view(np.int64) + 1
        return places, strides

    def put(self, first: Words, second: Words, offsets: Longs) -> None:
        """Set the offsets of keys with these hashes, in ascending order.

        Add at most `capacity` keys in all.
        """
        self._grow(self.keys + len(first))
        self._put(first, second, offsets)

    def _put(self, first: Words, second: Words, offsets: Longs) -> None:
        table = self._table
        values = offsets.astype(np.uint64) + np.uint64(1)
        places, strides = self._probe(first, second)
        while places.size:
            slots = table.take(places, axis=0)
            free = slots[:, _OFFSET] == 0
            same = (slots[:, _FIRST] == first) & (slots[:, _SECOND] == second) & ~free
            table[places[same], _OFFSET] = values[same]
            claims = np.flatnonzero(free)
            if claims.size:
                self._claim(places[claims], first[claims], second[claims], values=values[claims])
            taken = ~same & ~free
            places = np.where(taken, (places + strides) % self._slots, places)
            rest = np.flatnonzero(~same)  # claimed slots are looked at once more
            places, strides = places[rest], strides[rest]
            first, second, values = first[rest], second[rest], values[rest]

    def _claim(self, places: Longs, first: Words, second: Words, *, values: Words) -> None:
        """Give free slots to one of the keys that want them."""
        table = self._table
        numbers = np.arange(1, len(places) + 1, dtype=np.uint64)
        table[places, _OFFSET] = numbers
        won = np.flatnonzero(table[places, _OFFSET] == numbers)
        slots = places[won]
        table[slots, _FIRST] = first[won]
        table[slots, _SECOND] = second[won]
        table[slots, _OFFSET] = values[won]
        self.keys += len(slots)

    def get(self, first: Words, second: Words) -> Longs:
        """Return the offset of each key; -1: unknown."""
        result = np.full(len(first), -1, np.int64)
        rows = np.arange(len(first))
        places, strides = self._probe(first, second)
        while rows.size:
            slots = self._table.take(places, axis=0)
            stored = slots[:, _OFFSET]
            same = (slots[:, _FIRST] == first) & (slots[:, _SECOND] == second) & (stored != 0)
            result[rows[same]] = stored[same].astype(np.int64) - 1
            rest = np.flatnonzero(~same & (stored != 0))
            places = (places[rest] + strides[rest]) % self._slots
            rows, strides, first, second = rows[rest], strides[rest], first[rest], second[rest]
        return result
