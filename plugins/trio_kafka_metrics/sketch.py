"""Quantiles of what came lately, in a bounded place.

Values fall into buckets, eight to each power of two, so that what is told is at most 6 % off; a
bucket costs an entry of a dict once it has something. Two generations are kept, of five minutes
each or so: what is told is of the last five to ten minutes. Kafka draws samples of them instead
(1028, younger ones more often), whose quantiles are exact and whose choice is chance.
"""

from collections.abc import Sequence
from math import frexp
from typing import Final

TURN_S: Final = 300.0
_PARTS: Final = 8  # of each power of two
_LOWEST: Final = -20 * _PARTS  # about 1e-6; what is smaller is counted as that
_HIGHEST: Final = 44 * _PARTS


class Sketch:
    """Of values from 0 on. count: of all there ever were."""

    __slots__ = ("_before", "_now", "count")

    def __init__(self) -> None:
        self.count = 0
        self._now: dict[int, int] = {}
        self._before: dict[int, int] = {}

    def add(self, value: float) -> None:
        """Take a value in. About 0.4 µs."""
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
        """Begin a new generation: what was before the last one is forgotten."""
        self._before, self._now = self._now, {}

    def quantiles(self, wanted: Sequence[float]) -> tuple[float, ...]:
        """Of the two generations; zeros where they are empty. wanted: ascending, 0 to 1."""
        counts = dict(self._before)
        for bucket, count in self._now.items():
            counts[bucket] = counts.get(bucket, 0) + count
        total = sum(counts.values())
        found: list[float] = []
        seen, buckets = 0, iter(sorted(counts))
        bucket = _LOWEST
        for quantile in wanted:
            while seen < quantile * total or not seen:
                following = next(buckets, None)
                if following is None:
                    break
                bucket = following
                seen += counts[bucket]
            found.append(_middle(bucket))
        return tuple(found)


def _middle(bucket: int) -> float:
    if bucket <= _LOWEST:
        return 0.0
    exponent, part = divmod(bucket, _PARTS)
    return float(2.0**exponent * (part + _PARTS + 0.5) / (2 * _PARTS))
