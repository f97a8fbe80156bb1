"""How long what fails again and again waits before it is tried again. Pure.

The first failure costs no wait: most have causes that are over at once. Each further one doubles
it, up to a minute; who has gone well for twice the longest wait begins anew.
"""

from typing import Final

from trio_kafka.attributes import define

FIRST_S: Final = 0.1
LONGEST_S: Final = 60.0


@define
class Backoff:
    """Of one thing that may fail. failures: in a row."""

    failures: int = 0
    _last: float = 0.0

    def failed(self, now: float) -> float:
        """It has failed, at `now` (seconds of a clock that only goes on): how long to wait."""
        if now - self._last > 2 * LONGEST_S:
            self.failures = 0
        self.failures += 1
        wait = 0.0
        if self.failures > 1:
            wait = min(FIRST_S * 2 ** min(self.failures - 2, 10), LONGEST_S)
        self._last = now + wait
        return wait
