"""Meter: rates per second as exponentially weighted averages over 1, 5 and 15 minutes.

Every five seconds an average takes in what was marked since the last step. Nothing ticks: missed
steps are made when the meter is used. Source: Meter and EWMA of Yammer's metrics 2.2, which Apache
Kafka's JMX beans show.
"""

from math import exp, floor
from typing import Final

STEP_S: Final = 5.0
_MINUTES: Final = (1, 5, 15)
_WEIGHTS: Final = tuple(1 - exp(-STEP_S / 60 / minutes) for minutes in _MINUTES)


class Meter:
    """Meter of one quantity. now: seconds of any clock, the same in all calls."""

    __slots__ = ("_began", "_rates", "_stepped", "_uncounted", "count")

    def __init__(self, now: float) -> None:
        self.count = 0.0
        self._began = now
        self._stepped = now
        self._uncounted = 0.0
        self._rates: list[float] = []  # empty before the first step

    def mark(self, amount: float, now: float) -> None:
        """Add an amount."""
        self._step(now)
        self.count += amount
        self._uncounted += amount

    def one_minute(self, now: float) -> float:
        """Return the rate per second of the last minute."""
        return self._rate(0, now)

    def five_minutes(self, now: float) -> float:
        return self._rate(1, now)

    def fifteen_minutes(self, now: float) -> float:
        return self._rate(2, now)

    def mean(self, now: float) -> float:
        """Return the rate per second since the start."""
        return self.count / (now - self._began) if now > self._began else 0.0

    def _rate(self, which: int, now: float) -> float:
        self._step(now)
        return self._rates[which] if self._rates else 0.0

    def _step(self, now: float) -> None:
        steps = floor((now - self._stepped) / STEP_S)
        if steps <= 0:
            return
        self._stepped += steps * STEP_S
        came, self._uncounted = self._uncounted / STEP_S, 0.0
        if not self._rates:
            self._rates = [came] * len(_MINUTES)
        else:
            for which, weight in enumerate(_WEIGHTS):
                self._rates[which] += weight * (came - self._rates[which])
        if steps > 1:  # steps without a mark
            for which, weight in enumerate(_WEIGHTS):
                self._rates[which] *= (1 - weight) ** (steps - 1)
