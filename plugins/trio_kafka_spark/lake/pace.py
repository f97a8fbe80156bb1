"""From a lag target to a trigger interval and a size of micro-batches.

A record waits at most one interval until its batch starts, and the batch must end within what is
left of the target. So the interval is half of the target, and a batch has no more records than are
written in that time.
"""

import re
from typing import Final

from trio_kafka.attributes import frozen

RECORDS_PER_SECOND: Final = 50_000
"""Rows per second that two cores write with room to spare; callers may give another rate."""

_SHORTEST_S: Final = 1.0
_UNITS: Final = {"ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_LAG: Final = re.compile(r"\s*(\d+(?:\.\d+)?)\s*(ms|s|m|min|h)\s*")


@frozen
class Pace:
    """Interval of micro-batches and the most records of each."""

    interval_s: float
    records: int

    @property
    def trigger(self) -> str:
        """The interval as Spark's `trigger(processingTime=...)` reads it."""
        return f"{round(self.interval_s * 1000)} milliseconds"


def pace_for(lag: str | float, records_per_second: int = RECORDS_PER_SECOND) -> Pace:
    """Return the pace for a lag target: seconds, or a text such as `30s`, `5m` or `500ms`.

    records_per_second: what the job can write. Raises ValueError for a target below one second,
    which micro-batches do not reach, and for a rate that is not positive.
    """
    lag_s = _seconds(lag)
    if not lag_s >= _SHORTEST_S:
        raise ValueError(f"lag target {lag!r}: want at least {_SHORTEST_S:g} s")
    if records_per_second <= 0:
        raise ValueError(f"records_per_second {records_per_second}: want a number above 0")
    interval_s = lag_s / 2
    return Pace(interval_s, max(1, int(records_per_second * interval_s)))


def _seconds(lag: str | float) -> float:
    if not isinstance(lag, str):
        return float(lag)
    match = _LAG.fullmatch(lag)
    if match is None:
        raise ValueError(f"lag target {lag!r}: want a number and a unit of {', '.join(_UNITS)}")
    return float(match[1]) * _UNITS[match[2]]
