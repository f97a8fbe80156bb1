"""Rows by name: functions from a Target to Figures, found in the modules beside this one."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from fnmatch import fnmatch
from importlib import import_module
from pathlib import Path
from typing import Any

from attrs import frozen

from tests.benchmarks.brokers import Broker
from tests.benchmarks.figures import Figures, Meter
from tests.benchmarks.topics import temporary_topic


@frozen(kw_only=True)
class Target:
    """One broker, and how much to ask of it in one run."""

    broker: Broker
    seconds: float
    limit: int  # bytes
    directory: Path  # for brokers that the row starts

    def meter(self) -> Meter:
        return Meter(self.broker.server)

    def topic(self) -> AbstractContextManager[str]:
        return temporary_topic(self.broker.bootstrap)


Row = Callable[[Target], Figures]
_ROWS: dict[str, Row] = {}


class NotApplicableError(Exception):
    """This row cannot be measured for this broker."""


def row(name: str, **arguments: Any) -> Callable[[Callable[..., Figures]], Callable[..., Figures]]:
    """Make `measure(target, **arguments)` the row `name`; may be repeated with other arguments."""

    def register(measure: Callable[..., Figures]) -> Callable[..., Figures]:
        if name in _ROWS:
            raise ValueError(f"two rows are named {name!r}")
        _ROWS[name] = lambda target: measure(target, **arguments)
        return measure

    return register


def all_rows() -> dict[str, Row]:
    """Every row, by name."""
    for path in sorted(Path(__file__).parent.glob("[a-z]*.py")):
        import_module(f"tests.benchmarks.rows.{path.stem}")
    return dict(sorted(_ROWS.items()))


def chosen_rows(patterns: list[str]) -> dict[str, Row]:
    """Rows whose name matches one of the patterns (`*` as in the shell); all, if there are none."""
    rows = all_rows()
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in rows):
            raise ValueError(f"no row matches {pattern!r}")
    return {
        name: measure
        for name, measure in rows.items()
        if not patterns or any(fnmatch(name, pattern) for pattern in patterns)
    }
