"""The brokers that are measured: started here, or running already on this machine."""

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, Final

from attrs import frozen

from tests.benchmarks.server import Server, listening_pid
from trio_kafka.testing.ports import unused_port
from trio_kafka.testing.processes import (
    Address,
    BrokerProcess,
    Command,
    broker_process,
    trio_kafka_command,
)

SCRIPTS: Final = Path(__file__).parent / "apache_kafka"
# Rows delete their topics: the bytes are to go before the next row is measured.
DELETE_DELAY_S: Final = 1
SETTINGS: Final = (
    f"log.segment.delete.delay.ms={DELETE_DELAY_S * 1000}",
    # Rebalances are measured, not what a coordinator waits for before it begins one; but members
    # that come at the same time are to be in the first one together.
    "group.initial.rebalance.delay.ms=500",
    "group.consumer.assignment.interval.ms=0",
)


def apache_kafka_command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
    """Apache Kafka 4.4 in a JVM; needs bash, Java 17 and, the first time, Maven."""
    return [str(SCRIPTS / "serve.sh"), str(port), str(unused_port()), str(data), *settings]


def checkout_command(checkout: Path) -> Command:
    """Another checkout of this project, by the interpreter in its own `.venv`."""

    def command(port: int, data: Path, settings: Sequence[str]) -> list[str]:
        _, *rest = trio_kafka_command(port, data, settings)
        return [str(checkout / ".venv" / "bin" / "python"), *rest]

    return command


COMMANDS: Final[Mapping[str, Command]] = {
    "trio-kafka": trio_kafka_command,
    "apache-kafka": apache_kafka_command,
}


@frozen
class Broker:
    """A broker that answers; `start` starts another one of its kind, where that is known: with a
    directory, and settings beside its own.
    """

    name: str
    address: Address
    server: Server
    start: Callable[..., AbstractContextManager[BrokerProcess]] | None = None

    @property
    def bootstrap(self) -> str:
        return f"{self.address[0]}:{self.address[1]}"


@contextmanager
def started(
    name: str, directory: Path, *settings: str, command: Command | None = None
) -> Iterator[Broker]:
    """A broker with data of its own, until the block ends.

    settings: NAME=VALUE, beside those of all. command: that of COMMANDS if there is none.
    """
    command = command or COMMANDS[name]

    def start(
        where: Path, *more: str, port: int | None = None
    ) -> AbstractContextManager[BrokerProcess]:
        all_settings = (*SETTINGS, *settings, *more)
        return broker_process(where, *all_settings, command=command, port=port, start_timeout_s=120)

    with start(directory / name) as broker:
        yield Broker(name, broker.address, Server(broker.process.pid), start)


def unwind_on_sigterm() -> None:
    """Make SIGTERM end this program as an exit does: brokers that it started end before it.

    An extension in C may make another exception of the exit that comes while it runs: that ends the
    program, too, and with the status of the signal.
    """
    signals: list[int] = []

    def end(number: int, _frame: object) -> None:
        signals.append(number)
        sys.exit(128 + number)

    def report(kind: type[BaseException], error: BaseException, traceback: Any) -> None:
        sys.__excepthook__(kind, error, traceback)
        if signals:
            sys.stderr.flush()
            os._exit(128 + signals[0])  # a hook cannot exit; all blocks have ended by now

    signal.signal(signal.SIGTERM, end)
    sys.excepthook = report


@contextmanager
def chosen(text: str, directory: Path) -> Iterator[Broker]:
    """The broker that a user names: one of COMMANDS, NAME=HOST:PORT or NAME=CHECKOUT."""
    name, _, place = text.partition("=")
    if not place:
        with started(name, directory) as broker:
            yield broker
    elif (Path(place) / "pyproject.toml").is_file():
        with started(name, directory, command=checkout_command(Path(place).resolve())) as broker:
            yield broker
    else:
        yield running(text)


def running(text: str) -> Broker:
    """NAME=HOST:PORT. The process is whoever listens there; its figures need it on this machine."""
    name, _, address = text.partition("=")
    host, _, port = address.rpartition(":")
    if not (name and host and port.isdigit()):
        raise ValueError(f"{text!r}: want NAME=HOST:PORT")
    return Broker(name, (host, int(port)), Server(listening_pid(int(port))))
