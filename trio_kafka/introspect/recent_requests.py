"""Recent requests: the latest and the slowest ones of each API, for inspection.

Their stamps are kept, which hold no connection, frame or message. Slow requests are forgotten after
an hour.
"""

import heapq
from collections import deque
from collections.abc import Iterator
from itertools import count
from typing import Final

from trio_kafka.introspect.stamps import Stamps

KEPT_S: Final = 3600.0
OFTEN: Final = 1024  # requests between two removals of old slow ones


class RecentRequests:
    """Recent requests of one API. most: of each kind.

    slow_above: seconds above which a request is one of the slowest.
    """

    __slots__ = ("_heap", "_most", "_order", "latest", "slow_above")

    def __init__(self, most: int) -> None:
        self.latest: deque[Stamps] = deque(maxlen=most)
        self.slow_above = -1.0 if most else float("inf")
        self._most = most
        self._order = count()
        self._heap: list[tuple[float, int, Stamps]] = []

    def note_slow(self, stamps: Stamps, total_s: float) -> None:
        """Keep a request that took longer than `slow_above`, in place of the quickest one."""
        heap, entry = self._heap, (total_s, next(self._order), stamps)
        if len(heap) < self._most:
            heapq.heappush(heap, entry)
        else:
            heapq.heapreplace(heap, entry)
        self._set_bar()

    def forget(self, now: float) -> None:
        """Remove slow requests that ended an hour before `now`, a reading of `elapsed`."""
        kept = [entry for entry in self._heap if entry[2].sent > now - KEPT_S]
        if len(kept) < len(self._heap):
            heapq.heapify(kept)
            self._heap = kept
            self._set_bar()

    def slowest(self) -> Iterator[Stamps]:
        """Return the slowest requests, the slowest first."""
        return (stamps for _, _, stamps in sorted(self._heap, reverse=True))

    def _set_bar(self) -> None:
        full = len(self._heap) == self._most
        self.slow_above = self._heap[0][0] if full else -1.0
