"""The memory that requests may take together, from the promise of their size until they are done.

As long as anything is left a request gets all that it needs, so the last one overdraws the pool,
and a large one gets through however small the pool is. Who finds nothing left waits in a line; what
is given back goes to the first of it, so that nobody overtakes and nobody starves. Source:
SimpleMemoryPool of Apache Kafka 4.4.0, not strict; its Selector has no line and shuffles instead.
"""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Final, Protocol

from trio_kafka.quotas.rate import Rate

_WINDOWS: Final = 2  # metrics.num.samples
_WINDOW_MS: Final = 30_000  # metrics.sample.window.ms


class Taker(Protocol):
    """Who takes from a pool."""

    @property
    def wanted(self) -> int:
        """Bytes."""

    def granted(self) -> None:
        """They were taken for it."""


class MemoryPool:
    """size: bytes, queued.max.request.bytes; elapsed: the clock of what it measures, in seconds."""

    def __init__(self, size: int, elapsed: Callable[[], float]) -> None:
        self.size = size
        self.free = size
        self.least = size  # that was ever free; below 0: overdrawn
        self.depleted = 0  # how often somebody found nothing left when nobody waited
        self.depleted_s = 0.0  # for how long somebody waited
        self._elapsed = elapsed
        self._line: OrderedDict[Taker, Callable[[], None]] = OrderedDict()
        self._since = 0.0  # the first of the line came
        self._lately = Rate(_WINDOWS, _WINDOW_MS)

    def __len__(self) -> int:
        """How many wait."""
        return len(self._line)

    def take(self, size: int) -> bool:
        """Take so many bytes, if any are left."""
        if self.free <= 0:
            return False
        self.free -= size
        self.least = min(self.least, self.free)
        return True

    def wait(self, taker: Taker, tell: Callable[[], None]) -> None:
        """Take what a taker wants when it is its turn; `tell` is called after that."""
        if not self._line:
            self.depleted += 1
            self._since = self._elapsed()
        self._line[taker] = tell

    def forget(self, taker: Taker) -> None:
        """It does not wait any more. Idempotent."""
        if self._line.pop(taker, None) is not None and not self._line:
            self._measure()

    def give(self, size: int) -> None:
        """Give back what was taken: whose turn it is has it at once."""
        self.free += size
        if not self._line or self.free <= 0:
            return
        while self._line and self.free > 0:
            taker, tell = self._line.popitem(last=False)
            self.take(taker.wanted)
            taker.granted()
            tell()
        if not self._line:
            self._measure()

    def figures(self) -> Mapping[str, float]:
        """Under the names of Kafka's beans where it has them; times in ms, shares up to 1."""
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
        """The line is empty."""
        took = self._elapsed() - self._since
        self.depleted_s += took
        self._lately.record(took * 1000, self._now_ms())

    def _now_ms(self) -> int:
        return int(self._elapsed() * 1000)
