"""Delays before a shard that failed is loaded again."""

from typing import Final

from trio_kafka.attributes import define
from trio_kafka.peers.backoff import Backoff

BACKOFF: Final = Backoff(0.1, 60.0)  # from the second retry on


@define
class ReloadDelays:
    """Delays before a shard that failed is loaded again. failures: in a row.

    The first retry is immediate, as most causes pass at once. Each further failure doubles the
    delay, up to a minute. Two minutes without a failure reset it.
    """

    failures: int = 0
    _last: float = 0.0

    def failed(self, now: float) -> float:
        """Note a failure at `now`, in seconds of a monotonic clock, and return the delay."""
        if now - self._last > 2 * BACKOFF.longest_s:
            self.failures = 0
        self.failures += 1
        wait = BACKOFF.pause_s(self.failures - 1) if self.failures > 1 else 0.0
        self._last = now + wait
        return wait
