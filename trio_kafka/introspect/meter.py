"""Meter: a rate per second as an exponentially weighted average over one minute.

Every five seconds the average takes in what was marked since the last step. Nothing ticks: missed
steps are made when the meter is used. Source: Meter and EWMA of Yammer's metrics 2.2, which Apache
Kafka's JMX beans show.
"""

from math import exp, floor
from typing import Final

from attrs import field

from trio_kafka.attributes import define

STEP_S: Final = 5.0
_WEIGHT: Final = 1 - exp(-STEP_S / 60)


@define(eq=False)
class Meter:
    """Meter of one quantity. now: seconds of any clock, the same in all calls."""

    _stepped: float
    count: float = field(default=0.0, init=False)
    _uncounted: float = field(default=0.0, init=False)
    _rate: float | None = field(default=None, init=False)  # None before the first step

    def mark(self, amount: float, now: float) -> None:
        """Add an amount."""
        self._step(now)
        self.count += amount
        self._uncounted += amount

    def one_minute(self, now: float) -> float:
        """Return the rate per second of the last minute."""
        self._step(now)
        return self._rate or 0.0

    def _step(self, now: float) -> None:
        steps = floor((now - self._stepped) / STEP_S)
        if steps <= 0:
            return
        self._stepped += steps * STEP_S
        came, self._uncounted = self._uncounted / STEP_S, 0.0
        rate = came if self._rate is None else self._rate + _WEIGHT * (came - self._rate)
        self._rate = rate * (1 - _WEIGHT) ** (steps - 1)  # the others had no mark
