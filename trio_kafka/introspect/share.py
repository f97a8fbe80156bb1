"""The share of time in which something was so, lately; no clock of its own.

An average that weighs what is older ever less: a minute ago counts e times less than now. It is fed
with sums of seconds at any moments, also far apart, so that nothing has to tick while nothing
happens. Source: the one-minute rate of a Meter, by which Apache Kafka tells how idle its threads
are, for steps of any length.
"""

from collections.abc import Callable
from math import exp
from typing import Final

_WEIGHED_S: Final = 60.0


class Share:
    """now: seconds of any clock, that of the calls that follow. total_s: the sum so far."""

    __slots__ = ("_now", "_total_s", "value")

    def __init__(self, now: float, total_s: float = 0.0, value: float = 1.0) -> None:
        """value: what is told until some time has passed."""
        self.value = value
        self._now = now
        self._total_s = total_s

    def sample(self, now: float, total_s: float) -> float:
        """Take in what came since the last sample: the share from now on, from 0 to 1."""
        took_s = now - self._now
        if took_s > 0:
            share = min(max((total_s - self._total_s) / took_s, 0.0), 1.0)
            self.value += (1 - exp(-took_s / _WEIGHED_S)) * (share - self.value)
            self._now, self._total_s = now, total_s
        return self.value


class Parked:
    """How long one task has been parked, of all times together, and lately."""

    __slots__ = ("_elapsed", "_share", "_since", "_sum_s")

    def __init__(self, elapsed: Callable[[], float]) -> None:
        self._elapsed = elapsed
        self._since: float | None = None
        self._sum_s = 0.0
        self._share = Share(elapsed())

    def begin(self) -> None:
        self._since = self._elapsed()

    def end(self) -> None:
        self._sum_s = self.sum_s
        self._since = None

    @property
    def sum_s(self) -> float:
        since = self._since
        return self._sum_s if since is None else self._sum_s + self._elapsed() - since

    def lately(self) -> float:
        """The share of time, from 0 to 1."""
        return self._share.sample(self._elapsed(), self.sum_s)
