"""Delay before something that failed is tried again. Pure.

The first retry is immediate, as most causes pass at once. Each further failure doubles the delay,
up to a minute. Two minutes without a failure reset it.
"""

from typing import Final

from trio_kafka.attributes import define

FIRST_S: Final = 0.1
LONGEST_S: Final = 60.0


@define
class Backoff:
    """Delays of one thing that may fail. failures: in a row."""

    failures: int = 0
    _last: float = 0.0

    def failed(self, now: float) -> float:
        """Note a failure at `now`, in seconds of a monotonic clock, and return the delay."""
        if now - self._last > 2 * LONGEST_S:
            self.failures = 0
        self.failures += 1
        wait = 0.0
        if self.failures > 1:
            wait = min(FIRST_S * 2 ** min(self.failures - 2, 10), LONGEST_S)
        self._last = now + wait
        return wait
