"""An average over sliding windows, as Kafka's metrics have it: of values, not over time.

Source: Avg and the defaults of MetricConfig (`metrics.num.samples`, `metrics.sample.window.ms`) of
Apache Kafka 4.4.0.
"""

from typing import Final

from trio_kafka.quotas.rate import Rate

WINDOWS: Final = 2
WINDOW_MS: Final = 30_000


class Average:
    """Average of the values that were recorded in the last minute."""

    __slots__ = ("_count", "_sum")

    def __init__(self, windows: int = WINDOWS, window_ms: int = WINDOW_MS) -> None:
        # Both begin their windows with the same records, so that their quotient is the average.
        self._sum = Rate(windows, window_ms)
        self._count = Rate(windows, window_ms)

    def record(self, value: float, now_ms: int) -> None:
        self._sum.record(value, now_ms)
        self._count.record(1, now_ms)

    def measure(self, now_ms: int) -> float | None:
        """Return the average; None where nothing was recorded, which Kafka shows as NaN."""
        count = self._count.measure(now_ms)
        return self._sum.measure(now_ms) / count if count else None
