"""Pace of a run: when a pause is due, and what it reports.

A run knows no clock. Its parts report what their work costs, as measured on a small machine, so a
pause comes after about half a millisecond.
"""

from typing import Final

from trio_kafka.attributes import define
from trio_kafka.log.cleaner.job import Pause

_TURN_US: Final = 500.0


@define(kw_only=True)
class Pace:
    """Work since the last pause. moved, offset, indexing: see `Pause`."""

    moved: int = 0
    offset: int = 0
    indexing: bool = True
    _spent_us: float = 0.0

    def due(self, cost_us: float) -> bool:
        """Add the cost of some work; return whether a pause is due."""
        self._spent_us += cost_us
        return self._spent_us >= _TURN_US

    def pause(self) -> Pause:
        """Return a pause, and begin to count anew."""
        moved, self.moved, self._spent_us = self.moved, 0, 0.0
        return Pause(moved, self.offset, self.indexing)
