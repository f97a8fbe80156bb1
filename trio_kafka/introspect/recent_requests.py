"""Requests as they went, kept for a while: of each API the latest and the slowest.

What is kept are the stamps themselves: nothing is copied, and no connection, frame or message is
held by them. A request costs an append to a ring and one comparison. Slow ones are forgotten after
an hour, so that a bad start does not hide a bad day.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from trio_kafka.introspect.stamps import Stamps

KEPT_S: Final = 3600.0
OFTEN: Final = 1024  # requests between two looks for slow ones that are too old


class Lives:
    """Of one API. most: of each kind.

    slow_above: seconds; whoever took no longer is none of the slowest.
    """

    __slots__ = ("_heap", "_most", "_order", "latest", "slow_above")

    def __init__(self, most: int) -> None:
        self.latest: deque[Stamps] = deque(maxlen=most)
        self.slow_above = -1.0 if most else float("inf")
        self._most = most
        self._order = count()
        self._heap: list[tuple[float, int, Stamps]] = []

    def note_slow(self, stamps: "Stamps", total_s: float) -> None:
        """Keep a request that took longer than `slow_above`; the quickest one goes for it."""
        heap, entry = self._heap, (total_s, next(self._order), stamps)
        if len(heap) < self._most:
            heapq.heappush(heap, entry)
        else:
            heapq.heapreplace(heap, entry)
        self._set_bar()

    def forget(self, now: float) -> None:
        """Let go of slow ones that ended more than an hour before `now`; a reading of `elapsed`."""
        kept = [entry for entry in self._heap if entry[2].sent > now - KEPT_S]
        if len(kept) < len(self._heap):
            heapq.heapify(kept)
            self._heap = kept
            self._set_bar()

    def slowest(self) -> "Iterator[Stamps]":
        """The slowest first."""
        return (stamps for _, _, stamps in sorted(self._heap, reverse=True))

    def _set_bar(self) -> None:
        full = len(self._heap) == self._most
        self.slow_above = self._heap[0][0] if full else -1.0
