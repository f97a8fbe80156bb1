"""Rows by name: functions from a Target to Figures, found in the modules beside this one.

Each is declared with what its figures are held to; nothing else knows these bounds.
"""

import os
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from attrs import evolve, frozen

from tests.benchmarks.bounds import Bound
from tests.benchmarks.brokers import DELETE_DELAY_S, Broker
from tests.benchmarks.connection import Connection
from tests.benchmarks.figures import Figures, Meter
from tests.benchmarks.page_cache import warm_page_cache
from tests.benchmarks.server import Server
from tests.benchmarks.topics import temporary_topic
from trio_kafka.testing.processes import Address


@frozen(kw_only=True)
class Secured:
    """A listener with TLS."""

    address: Address
    context: ssl.SSLContext


@frozen(kw_only=True)
class Target:
    """One broker, and how much to ask of it in one run. tls: where `connect` goes, if set."""

    broker: Broker
    seconds: float
    limit: int  # bytes
    directory: Path  # for brokers that the row starts
    tls: Secured | None = None

    def open(self) -> Connection:
        """A connection; the caller closes its socket."""
        if self.tls is None:
            return Connection(self.broker.address)
        return Connection(self.tls.address, tls=self.tls.context)

    @contextmanager
    def connect(self) -> Iterator[Connection]:
        """A connection for the block."""
        connection = self.open()
        try:
            yield connection
        finally:
            connection.socket.close()

    def over(self, tls: Secured) -> "Target":
        """The same broker, by this listener."""
        return evolve(self, tls=tls)

    def meter(self) -> Meter:
        return Meter(self.broker.server)

    @contextmanager
    def topic(self, partitions: int = 1, *, much: int = 0) -> Iterator[str]:
        """A topic while the block runs. What a wide one leaves to do (directories to sync, logs to
        delete) is done when the block begins, and when it has ended.

        much: `limit` bytes are written, about so many at a time: memory for them is warm, and they
            are gone from the disk, and from the kernel's queue for it, before anything else is
            measured.
        """
        wide = partitions > 1
        with temporary_topic(self.broker.bootstrap, partitions) as topic:
            if wide:
                self.broker.server.wait_until_idle()
            if much:
                warm_page_cache(self.directory, self.limit + (self.limit >> 1), much)
            yield topic
        if wide or much:
            time.sleep(DELETE_DELAY_S)
            self.broker.server.wait_until_idle()
        if much:
            os.sync()

    @contextmanager
    def fresh(self, *settings: str, port: int | None = None) -> "Iterator[Target]":
        """A broker of this kind that has served nobody yet. NotApplicableError.

        settings: NAME=VALUE, beside those of all.
        """
        if self.broker.start is None:
            raise NotApplicableError("it runs already")
        with (
            TemporaryDirectory(dir=self.directory) as directory,
            self.broker.start(Path(directory), *settings, port=port) as started,
        ):
            server = Server(started.process.pid)
            yield evolve(self, broker=Broker(self.broker.name, started.address, server))


Measure = Callable[[Target], Figures]


@frozen(kw_only=True)
class Row:
    """A function that measures one broker, and the bounds of its figures."""

    measure: Measure
    bounds: tuple[Bound, ...] = ()


_ROWS: dict[str, Row] = {}


class NotApplicableError(Exception):
    """This row cannot be measured for this broker."""


def row(
    name: str, *bounds: Bound, **arguments: Any
) -> Callable[[Callable[..., Figures]], Callable[..., Figures]]:
    """Make `measure(target, **arguments)` the row `name`; may be repeated with other arguments."""

    def register(measure: Callable[..., Figures]) -> Callable[..., Figures]:
        if name in _ROWS:
            raise ValueError(f"two rows are named {name!r}")
        _ROWS[name] = Row(measure=partial(measure, **arguments), bounds=bounds)
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
        name: each
        for name, each in rows.items()
        if not patterns or any(fnmatch(name, pattern) for pattern in patterns)
    }
