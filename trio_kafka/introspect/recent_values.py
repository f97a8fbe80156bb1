"""Average and maximum of the values of the last minute.

Values are kept as sums of two windows of 30 s, the current one and the one before, so memory is
constant and nothing has to tick. Source: the sampled statistics Avg and Max of Apache Kafka 4.4.0,
by the defaults of `metrics.num.samples` and `metrics.sample.window.ms`.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define

_WINDOW_S: Final = 30.0


@define(eq=False)
class _Window:
    begin: float
    count: int = 0
    total: float = 0.0
    largest: float = 0.0


@define(eq=False)
class RecentValues:
    """Values by the time at which they were added: seconds of a clock that never goes back."""

    _windows: list[_Window] = field(factory=list, init=False)

    def add(self, value: float, now: float) -> None:
        """Add a value, which is not negative."""
        self._discard(now)
        if not self._windows or now - self._windows[-1].begin >= _WINDOW_S:
            self._windows.append(_Window(now))
        window = self._windows[-1]
        window.count += 1
        window.total += value
        window.largest = max(window.largest, value)

    def average(self, now: float) -> float | None:
        """Return the average; None: there is no recent value."""
        self._discard(now)
        count = sum(window.count for window in self._windows)
        return sum(window.total for window in self._windows) / count if count else None

    def largest(self, now: float) -> float | None:
        """Return the maximum; None: there is no recent value."""
        self._discard(now)
        return max((window.largest for window in self._windows), default=None)

    def _discard(self, now: float) -> None:
        self._windows = [w for w in self._windows if now - w.begin < 2 * _WINDOW_S]
