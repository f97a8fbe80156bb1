"""Counters, averages and rates over the last windows of time. No clock: the registry shifts them.

Source: Rate, Avg, Max and CumulativeSum of Apache Kafka 4.4.0. There each metric has windows of its
own; here all metrics of a client share them.
"""

from collections import deque
from math import nan
from typing import Final

_LOWEST: Final = float("-inf")


class Total:
    """Number of events since the start of the client: add to `value`."""

    __slots__ = ("_marks", "value")

    def __init__(self, samples: int) -> None:
        self.value: float = 0
        self._marks: deque[float] = deque([0], maxlen=samples)

    def shift(self) -> None:
        """Begin the next window."""
        self._marks.append(self.value)

    @property
    def recent(self) -> float:
        """Number of events since the start of the oldest window."""
        return self.value - self._marks[0]


class Distribution:
    """Average and maximum of values; NaN without a value in the last windows."""

    __slots__ = ("_count", "_largest", "_older", "_sum")

    def __init__(self, samples: int) -> None:
        self._older: deque[tuple[int, float, float]] = deque(maxlen=samples - 1)
        self._count = 0
        self._sum = 0.0
        self._largest = _LOWEST

    def record(self, value: float) -> None:
        """Take a value."""
        self._count += 1
        self._sum += value
        self._largest = max(self._largest, value)

    def shift(self) -> None:
        """Begin the next window."""
        self._older.append((self._count, self._sum, self._largest))
        self._count, self._sum, self._largest = 0, 0.0, _LOWEST

    @property
    def average(self) -> float:
        count = self._count + sum(count for count, _, _ in self._older)
        return (self._sum + sum(part for _, part, _ in self._older)) / count if count else nan

    @property
    def largest(self) -> float:
        largest = max([self._largest, *(largest for _, _, largest in self._older)])
        return nan if largest == _LOWEST else largest
