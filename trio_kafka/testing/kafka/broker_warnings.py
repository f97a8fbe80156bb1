"""Warnings that a broker under test has logged, for the report of a failed test."""

import logging
import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.introspect.log import fields_of

MOST: Final = 6
_LOGGER: Final = "trio_kafka"


class BrokerWarnings(logging.Handler):
    """The latest warnings and errors of the broker whose loop runs in this thread.

    lines: one for each. Where a program has no handler of its own, logging still prints them.
    """

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.lines: deque[str] = deque(maxlen=MOST)
        self._thread = threading.get_ident()

    def emit(self, record: logging.LogRecord) -> None:
        if record.thread == self._thread:
            fields = "".join(f" {name}={value}" for name, value in fields_of(record).items())
            trouble = f" ({record.exc_info[1]!r})" if record.exc_info else ""
            self.lines.append(f"{record.levelname} {record.getMessage()}{fields}{trouble}")
        if not logging.getLogger().handlers and logging.lastResort is not None:
            logging.lastResort.handle(record)


@contextmanager
def kept_warnings() -> Iterator[BrokerWarnings]:
    """Keep the warnings of a broker in this thread for the block."""
    handler, logger = BrokerWarnings(), logging.getLogger(_LOGGER)
    logger.addHandler(handler)
    try:
        yield handler
    finally:
        logger.removeHandler(handler)
