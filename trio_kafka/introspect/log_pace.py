"""Bound of the log lines that clients can cause: the rest of a flood is logged as a number.

A client that fails to log in, again and again on many connections, would otherwise fill the disk.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define

_WINDOW_S: Final = 1.0


@define(eq=False)
class LogPace:
    """Pace of one kind of line. most: lines in a second."""

    most: int
    _begun: float = field(default=float("-inf"), init=False)
    _lines: int = field(default=0, init=False)
    _others: int = field(default=0, init=False)

    def admit(self, now: float) -> int | None:
        """Return how many lines were left out before this one; None: leave it out, too.

        now: seconds of a clock that only moves forward.
        """
        if now - self._begun >= _WINDOW_S:
            self._begun, self._lines = now, 0
        if self._lines == self.most:
            self._others += 1
            return None
        self._lines += 1
        others, self._others = self._others, 0
        return others
