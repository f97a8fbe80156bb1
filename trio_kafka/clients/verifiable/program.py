"""Parts of both verifiable clients: events, the file of settings, and the end by a signal."""

import json
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final, TextIO

import trio

from trio_kafka.attributes import define
from trio_kafka.config.properties import parse_properties
from trio_kafka.world.real import RealWorld

Main = Callable[["Events", Sequence[str]], Awaitable[None]]
_SIGNALS: Final = (signal.SIGTERM, signal.SIGINT)


@define(eq=False)
class Events:
    """Writes events: one JSON object a line, with its name and the time in milliseconds."""

    world: RealWorld
    out: TextIO

    def write(self, name: str, **fields: object) -> None:
        """Write an event at once, so that a reader of a pipe sees it."""
        now_ms = int(self.world.clock.wall() * 1000)
        self.write_line({"timestamp": now_ms, "name": name, **fields})

    def write_line(self, fields: Mapping[str, object]) -> None:
        """Write a line at once."""
        self.out.write(json.dumps(fields, separators=(",", ":")) + "\n")
        self.out.flush()


def file_settings(path: str | None) -> dict[str, str]:
    """Return the settings of a properties file by Kafka's names. Raises OSError, ConfigError."""
    if path is None:
        return {}
    with open(path, encoding="utf-8") as file:  # noqa: PTH123 - a program of its own
        rows = parse_properties(file.read(), path)
    return {name: row.text for name, row in rows.items()}


def merged(file: Mapping[str, str], options: Mapping[str, object]) -> dict[str, object]:
    """Return settings for a client: those of the file, and options that are not None above them."""
    return {**file, **{name: value for name, value in options.items() if value is not None}}


@asynccontextmanager
async def until_signal() -> AsyncIterator[trio.CancelScope]:
    """Give a scope that SIGTERM or SIGINT cancels: work inside it ends, the block goes on."""
    scope = trio.CancelScope()

    async def listen(*, task_status: trio.TaskStatus[None]) -> None:
        with trio.open_signal_receiver(*_SIGNALS) as signals:
            task_status.started()
            async for _ in signals:
                scope.cancel()

    async with trio.open_nursery() as nursery:
        await nursery.start(listen, name="signals")
        yield scope
        nursery.cancel_scope.cancel()


def run(main: Main) -> None:
    """Run a verifiable client with the arguments of the process."""
    trio.run(main, Events(RealWorld(), sys.stdout), sys.argv[1:])
