"""Share of recent time in which a condition held, as an exponentially weighted average.

Time a minute ago weighs e times less than now. Samples are sums of seconds at any moments, so
nothing has to tick. Source: the one-minute rate of a Meter, by which Apache Kafka reports how idle
its threads are, for steps of any length.
"""

from collections.abc import Callable
from math import exp
from typing import Final

_WEIGHED_S: Final = 60.0


class RecentShare:
    """Weighted share.

    now: seconds of any clock, the same in all calls. total_s: sum so far. value: until the first
    sample.
    """

    __slots__ = ("_now", "_total_s", "value")

    def __init__(self, now: float, total_s: float = 0.0, value: float = 1.0) -> None:
        self.value = value
        self._now = now
        self._total_s = total_s

    def sample(self, now: float, total_s: float) -> float:
        """Take in the time since the last sample; return the share, 0 to 1."""
        took_s = now - self._now
        if took_s > 0:
            share = min(max((total_s - self._total_s) / took_s, 0.0), 1.0)
            self.value += (1 - exp(-took_s / _WEIGHED_S)) * (share - self.value)
            self._now, self._total_s = now, total_s
        return self.value


class ParkedTime:
    """Parked time of one task, in total and as a share of recent time.

    since: when it was parked, which the task sets; None: it runs.
    """

    __slots__ = ("_elapsed", "_share", "_sum_s", "since")

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self.since: float | None = None
        self._sum_s = 0.0
        self._share = RecentShare(elapsed())

    def end(self) -> None:
        self._sum_s = self.sum_s
        self.since = None

    @property
    def sum_s(self) -> float:
        since = self.since
        return self._sum_s if since is None else self._sum_s + self._elapsed() - since

    def lately(self) -> float:
        """Return the share of recent time, 0 to 1."""
        return self._share.sample(self._elapsed(), self.sum_s)
