"""Which loggers there are, and from which severity on each is heard; changed while a broker runs.

Names of levels are those of Kafka's tools; what is set is gone when the process ends. `root` is
over all others; a package's logger stands for its modules, unless they have levels of their own.
Loggers belong to the process: brokers in one process share them. Source: KIP-412.
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
    """Call `call` after each change of a level, while the block runs. It must not raise."""
    key = object()
    _followers[key] = call
    try:
        yield
    finally:
        del _followers[key]


def logger_levels() -> dict[str, str]:
    """The level of every logger by its name, also of those that have it from another one."""
    names = sorted(logging.root.manager.loggerDict)
    found = {name: _name_of(_effective(name)) for name in names}
    return {ROOT: _name_of(logging.root.level), **found}


def has_logger(name: str) -> bool:
    """Whether there is one of that name: of a module that has logged, or of a package above it."""
    return name == ROOT or name in logging.root.manager.loggerDict


def set_level(name: str, level: str | None) -> None:
    """Let a logger that is there be heard from a level on; None: from where the one above it is.

    Raises KeyError for a level that is none of `LEVELS`.
    """
    number = logging.NOTSET if level is None else LEVELS[level]
    (logging.root if name == ROOT else logging.getLogger(name)).setLevel(number)
    for call in tuple(_followers.values()):
        call()


def _effective(name: str) -> int:
    """A package that never logged has the level of what stands above it."""
    while name:
        found = logging.root.manager.loggerDict.get(name)
        if isinstance(found, logging.Logger):
            return found.getEffectiveLevel()
        name = name.rpartition(".")[0]
    return logging.root.level


def _name_of(number: int) -> str:
    """The level that lets as much through: the least one that is not below the number."""
    return next((name for name, level in LEVELS.items() if number <= level), "FATAL")
