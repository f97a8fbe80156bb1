"""Log of a broker process, on standard error, as text or JSON."""

import logging
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.load import Loaded
from trio_kafka.introspect.log import FORMATS, get_logger, make_handler

_log: Final = get_logger("trio_kafka.config")


@contextmanager
def logging_as(config: BrokerConfig) -> Iterator[None]:
    """Log by `trio.log.format` and `trio.log.level` while the block runs.

    The handler is the root logger's, so that plugins and libraries are logged too.
    """
    root = logging.getLogger()
    level = root.level
    kind = FORMATS[FORMATS.index(config.trio_log_format)]
    handler = make_handler(kind, time.time, sys.stderr)
    root.addHandler(handler)
    root.setLevel(config.trio_log_level)
    try:
        yield
    finally:
        root.setLevel(level)
        root.removeHandler(handler)
        handler.flush()


def log_warnings(loaded: Loaded) -> None:
    """Log one line for each setting without an effect."""
    for warning in loaded.warnings:
        _log.warning("ignored a setting", setting=warning)
