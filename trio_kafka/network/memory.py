"""Memory pool for requests, from the receipt of their size until they are answered.

A request gets all that it needs while any memory is left, so the last one may overdraw the pool,
and a large one is served however small the pool is. Others wait in order: returned memory goes to
the first. Source: SimpleMemoryPool of Apache Kafka 4.4.0, not strict; its Selector shuffles
connections instead of queueing them.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from trio_kafka import held
from trio_kafka.quotas.rate import Rate

_WINDOWS: Final = 2  # metrics.num.samples
_WINDOW_MS: Final = 30_000  # metrics.sample.window.ms


class Taker(Protocol):
    """A waiting framer."""

    @property
    def needed_bytes(self) -> int:
        """Bytes that it waits for."""

    def granted(self) -> None:
        """Note that its bytes were taken."""


class MemoryPool:
    """Pool of `size` bytes (queued.max.request.bytes). elapsed: clock for its metrics.

    least: smallest number of free bytes so far; below 0: overdrawn.
    depleted, depleted_s: how often, and for how long, requests had to wait.
    """

    def __init__(self, size: int, elapsed: Callable[[], float]) -> None:
        self.size = size
        self.free = size
        self.least = size
        self.depleted = 0
        self.depleted_s = 0.0
        self._elapsed = elapsed
        self._line: OrderedDict[Taker, Callable[[], None]] = OrderedDict()
        self._since = 0.0  # the line began
        self._lately = Rate(_WINDOWS, _WINDOW_MS)
        held.opened(self)

    def __len__(self) -> int:
        """Number of waiting takers."""
        return len(self._line)

    def take(self, size: int) -> bool:
        """Take bytes if any are left; return whether they were taken."""
        if self.free <= 0:
            return False
        self.free -= size
        self.least = min(self.least, self.free)
        return True

    def wait(self, taker: Taker, granted: Callable[[], None]) -> None:
        """Queue a taker; call `granted` when its bytes were taken."""
        if not self._line:
            self.depleted += 1
            self._since = self._elapsed()
        self._line[taker] = granted

    def forget(self, taker: Taker) -> None:
        """Remove a taker from the queue. Idempotent."""
        if self._line.pop(taker, None) is not None and not self._line:
            self._measure()

    def give(self, size: int) -> None:
        """Return bytes, to the first takers in the queue."""
        self.free += size
        if not self._line or self.free <= 0:
            return
        while self._line and self.free > 0:
            taker, granted = self._line.popitem(last=False)
            self.take(taker.needed_bytes)
            taker.granted()
            granted()
        if not self._line:
            self._measure()

    def still_held(self) -> Mapping[str, int]:
        """See `held.Ledger`."""
        return {
            "bytes of request memory": self.size - self.free,
            "waits for request memory": len(self._line),
        }

    def figures(self) -> Mapping[str, float]:
        """Return figures, with the names of Kafka's beans where they exist; times in ms."""
        return {
            "size": self.size,
            "MemoryPoolAvailable": self.free,
            "MemoryPoolUsed": self.size - self.free,
            "MemoryPoolAvgDepletedPercent": self._lately.measure(self._now_ms()) / 1000,
            "MemoryPoolDepletedTimeTotal": self.depleted_s * 1000,
            "least": self.least,
            "depleted": self.depleted,
            "waiting": len(self._line),
        }

    def _measure(self) -> None:
        """Measure how long takers waited; the queue is empty now."""
        took = self._elapsed() - self._since
        self.depleted_s += took
        self._lately.record(took * 1000, self._now_ms())

    def _now_ms(self) -> int:
        return int(self._elapsed() * 1000)
