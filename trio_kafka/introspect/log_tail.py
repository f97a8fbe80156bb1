"""The last events of the process's log, kept in memory for those who look at a running broker.

A handler beside those that write the log: it keeps what they write, with the same cuts and escapes.
Only a few hundred events are kept, so a broker that logs much pays for one short text each.
"""

import logging
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.introspect.log import TextLines

MOST: Final = 500  # events that are kept
_LONGEST: Final = 8000  # characters of one event with its fields and its traceback


@frozen(kw_only=True)
class LogEvent:
    """One event. number: counts all events, from 1. text: one line or, with a traceback, several;
    without time, level and logger, which stand beside it. time: ISO 8601, UTC.
    """

    number: int
    time: str
    level: str
    logger: str
    text: str


class LogTail(logging.Handler):
    """Handler that keeps the last events. wall: clock, seconds since 1970."""

    def __init__(self, wall: Callable[[], float], most: int = MOST) -> None:
        super().__init__()
        self.setFormatter(TextLines(wall))
        self._events = deque[LogEvent](maxlen=most)
        self.count = 0  # events so far

    def emit(self, record: logging.LogRecord) -> None:
        """Keep an event; called with the lock of the handler."""
        try:
            line = self.format(record)
        except Exception:  # noqa: BLE001 - as all handlers: a bad event must not stop its logger
            self.handleError(record)
            return
        self.count += 1
        time, _, rest = line.partition(" ")
        text = rest.partition(f"{record.name}: ")[2]
        self._events.append(
            LogEvent(
                number=self.count,
                time=time,
                level=record.levelname,
                logger=record.name,
                text=text[:_LONGEST],
            )
        )

    def events(self) -> list[LogEvent]:
        """Return the events that are kept, the oldest first."""
        self.acquire()  # other threads log, too
        try:
            return list(self._events)
        finally:
            self.release()


@contextmanager
def tail_of_log(wall: Callable[[], float]) -> Iterator[LogTail]:
    """Keep the last events of the root logger while the block runs."""
    tail = LogTail(wall)
    root = logging.getLogger()
    root.addHandler(tail)
    try:
        yield tail
    finally:
        root.removeHandler(tail)
        tail.close()
