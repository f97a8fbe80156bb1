"""Quantiles of recent values, in bounded memory.

Values fall into buckets, eight per power of two, so a quantile is at most 6 % off; a bucket in use
costs a dict entry. Two generations of about five minutes each are kept, so quantiles cover the last
five to ten minutes. Kafka draws a random sample of 1028 values instead, biased to recent ones.
"""

from collections.abc import Sequence
from math import frexp
from typing import Final

TURN_S: Final = 300.0
_PARTS: Final = 8  # buckets per power of two
_LOWEST: Final = -20 * _PARTS  # about 1e-6, the smallest value counted
_HIGHEST: Final = 44 * _PARTS


class QuantileSketch:
    """Histogram of values >= 0. count: all values so far."""

    __slots__ = ("_before", "_now", "count")

    def __init__(self) -> None:
        self.count = 0
        self._now: dict[int, int] = {}
        self._before: dict[int, int] = {}

    def add(self, value: float) -> None:
        """Add a value. About 0.4 µs."""
        self.count += 1
        mantissa, exponent = frexp(value)
        bucket = exponent * _PARTS + int(mantissa * 16) - _PARTS
        if not _LOWEST <= bucket <= _HIGHEST:
            bucket = _LOWEST if bucket < _LOWEST else _HIGHEST
        elif value <= 0:
            bucket = _LOWEST
        now = self._now
        now[bucket] = now.get(bucket, 0) + 1

    def turn(self) -> None:
        """Begin a new generation and forget the one before the last."""
        self._before, self._now = self._now, {}

    def quantiles(self, fractions: Sequence[float]) -> tuple[float, ...]:
        """Return quantiles over both generations; zeros if empty. wanted: ascending, 0 to 1."""
        counts = dict(self._before)
        for bucket, count in self._now.items():
            counts[bucket] = counts.get(bucket, 0) + count
        total = sum(counts.values())
        values: list[float] = []
        seen, buckets = 0, iter(sorted(counts))
        bucket = _LOWEST
        for quantile in fractions:
            while seen < quantile * total or not seen:
                following = next(buckets, None)
                if following is None:
                    break
                bucket = following
                seen += counts[bucket]
            values.append(_middle(bucket))
        return tuple(values)


def _middle(bucket: int) -> float:
    if bucket <= _LOWEST:
        return 0.0
    exponent, part = divmod(bucket, _PARTS)
    return float(2.0**exponent * (part + _PARTS + 0.5) / (2 * _PARTS))
