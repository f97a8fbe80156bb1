"""Log levels, which can be changed while a broker runs.

Names of levels are those of Kafka's tools. Levels are lost when the process ends. A module has the
level of its package unless it has its own; `root` is above all. Loggers belong to the process, so
brokers in one process share them. Source: KIP-412.
"""

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Final

ROOT: Final = "root"
LEVELS: Final[Mapping[str, int]] = {
    "TRACE": 5,
    "DEBUG": logging.DEBUG,
    "INFO": logging.INFO,
    "WARN": logging.WARNING,
    "ERROR": logging.ERROR,
    "FATAL": logging.CRITICAL,
}
_followers: Final[dict[object, Callable[[], None]]] = {}


@contextmanager
def following(call: Callable[[], None]) -> Iterator[None]:
    """Call `call`, which must not raise, after each change of a level while the block runs."""
    key = object()
    _followers[key] = call
    try:
        yield
    finally:
        del _followers[key]


def logger_levels() -> dict[str, str]:
    """Return the effective level of every logger by its name."""
    names = sorted(logging.root.manager.loggerDict)
    levels = {name: _name_of(_effective(name)) for name in names}
    return {ROOT: _name_of(logging.root.level), **levels}


def has_logger(name: str) -> bool:
    """Return whether a module of that name has logged, or one of its modules."""
    return name == ROOT or name in logging.root.manager.loggerDict


def set_level(name: str, level: str | None) -> None:
    """Set the level of a logger; None: that of the logger above it.

    Raises KeyError for a level that is not in `LEVELS`.
    """
    number = logging.NOTSET if level is None else LEVELS[level]
    (logging.root if name == ROOT else logging.getLogger(name)).setLevel(number)
    for call in tuple(_followers.values()):
        call()


def _effective(name: str) -> int:
    """Return the level of a logger, or of the nearest one above it."""
    while name:
        logger = logging.root.manager.loggerDict.get(name)
        if isinstance(logger, logging.Logger):
            return logger.getEffectiveLevel()
        name = name.rpartition(".")[0]
    return logging.root.level


def _name_of(number: int) -> str:
    """Return the name of the lowest level that is not below the number."""
    return next((name for name, level in LEVELS.items() if number <= level), "FATAL")
