"""A broker under mixed load for a long time: does it keep what it should give back?

    python -m tests.benchmarks.soak --minutes 60

Producers, fetchers and askers at a steady pace, connections that come and go, topics that are
created, used and deleted. Each minute prints the server's memory and what its tree counts (of
trio-kafka); the end says whether memory is what it was after five minutes, within 10 %. With
--check it fails where that is not so, and always where the load met an error.
"""

import argparse
import itertools
import statistics
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from attrs import define, field, frozen

from tests.benchmarks import protocol
from tests.benchmarks.brokers import COMMANDS, Broker, running, started, unwind_on_sigterm
from tests.benchmarks.connection import connect
from tests.benchmarks.rows.idle import held
from tests.benchmarks.rows.raw import make_batch
from tests.benchmarks.rows.sessions import Session
from tests.benchmarks.topics import temporary_topic, watermarks
from tests.benchmarks.tree import figures_of, rows_of

SETTLED_MINUTE: Final = 5
TOLERANCE: Final = 0.1
# What is written in a minute is many times what is kept: logs roll and are deleted all the time.
KEPT: Final = {"segment.bytes": str(8 << 20), "retention.bytes": str(32 << 20)}
RETENTION_CHECK: Final = "log.retention.check.interval.ms=5000"
FIGURES: Final = {
    ("part", "log-manager"): "logs",
    ("file", "open-files"): "open",
    ("part", "fetch-sessions"): "sessions",
    ("purgatory", "Fetch"): "waiting",
    ("purgatory", "Produce"): "waiting",
    ("job", "timers"): "dead",
}
OFFSET_OUT_OF_RANGE: Final = 1


@define
class Load:
    """What the parts of the load share: how much they did, what went wrong, when to stop."""

    broker: Broker
    done: Counter[str] = field(factory=Counter)
    errors: list[str] = field(factory=list)
    stop: threading.Event = field(factory=threading.Event)

    def paced(self, every_s: float) -> Iterator[int]:
        """0, 1, 2, ... on time, until stopped; what came too late is not made up for."""
        due = time.monotonic()
        for number in itertools.count():
            due = max(due + every_s, time.monotonic())
            if self.stop.wait(max(due - time.monotonic(), 0)):
                return
            yield number

    def check(self, what: str, error: int) -> None:
        if error:
            raise ValueError(f"{what}: error {error}")
        self.done[what] += 1


Part = Callable[[Load, str], None]


def produce_large(load: Load, topic: str) -> None:
    """9 MB/s in batches of 900 kB."""
    request = protocol.produce_request(topic, make_batch(100, 900_000)[0], acks=-1)
    with connect(load.broker.address) as connection:
        for _ in load.paced(0.1):
            error = protocol.produce_error(topic, connection.call(request))
            load.check("large produce", error)


def produce_small(load: Load, topic: str) -> None:
    """200 records a second, one by one."""
    request = protocol.produce_request(topic, protocol.record_batch([b"x" * 100]), acks=1)
    with connect(load.broker.address) as connection:
        for _ in load.paced(0.005):
            load.check("small produce", protocol.produce_error(topic, connection.call(request)))


def fetch_on(load: Load, topic: str) -> None:
    """Follow what is written, in a session; from the first offset again where that is gone."""
    with connect(load.broker.address) as connection:
        session, offset = Session(connection, topic, [0]), 0
        for _ in load.paced(0.02):
            session.ask(0, offset, wait_ms=500, partition_size=1 << 20)
            answer = protocol.poll_answer(topic, connection.answer())
            if answer.error == OFFSET_OUT_OF_RANGE:
                offset = watermarks(load.broker.bootstrap, topic)[0]
                load.done["start again"] += 1
                continue
            load.check("poll", answer.error)
            offset = protocol.next_offset(answer.records) or offset
            load.done["records read"] = max(load.done["records read"], offset)


def ask(load: Load, topic: str) -> None:
    """100 Metadata and 100 ApiVersions a second."""
    requests = (protocol.metadata_request(topic), protocol.frame(protocol.API_VERSIONS, 0))
    with connect(load.broker.address) as connection:
        for number in load.paced(0.005):
            connection.call(requests[number % 2])
            load.done["metadata, versions"] += 1


def come_and_go(load: Load, topic: str) -> None:
    """50 connections every half a second; some leave while their poll is parked."""
    del topic
    with temporary_topic(load.broker.bootstrap) as silent:
        poll = protocol.poll_request(silent, [(0, 0)], wait_ms=60_000)
        for _ in load.paced(0.5):
            with held(load.broker.address, 50) as connections:
                for each in connections[:10]:
                    each.sendall(poll)
            load.done["connections"] += 50


def make_and_delete(load: Load, topic: str) -> None:
    """A topic of 20 partitions, one record in each, all read, every two seconds."""
    del topic
    batch = protocol.record_batch([b"x" * 100])
    for _ in load.paced(2):
        with (
            temporary_topic(load.broker.bootstrap, 20) as mine,
            connect(load.broker.address) as connection,
        ):
            request = protocol.produce_request(mine, batch, acks=-1, partitions=20)
            load.check("wide produce", protocol.produce_error(mine, connection.call(request)))
            poll = protocol.poll_request(mine, [(number, 0) for number in range(20)])
            load.check("wide poll", protocol.poll_answer(mine, connection.call(poll)).error)
        load.done["topics"] += 1


PARTS: Final[tuple[Part, ...]] = (
    produce_large,
    produce_small,
    fetch_on,
    fetch_on,
    ask,
    come_and_go,
    make_and_delete,
)


@contextmanager
def running_load(load: Load, topic: str) -> Iterator[None]:
    """Every part in a thread of its own, until the block ends; what fails stops all."""

    def run(part: Part) -> None:
        try:
            part(load, topic)
        except Exception as error:
            load.errors.append(f"{part.__name__}: {type(error).__name__}: {error}")
            load.stop.set()

    threads = [threading.Thread(target=run, args=(part,), name=part.__name__) for part in PARTS]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        load.stop.set()
        for thread in threads:
            thread.join()


@frozen
class Minute:
    """rss: the median of a reading a second, bytes. cores: CPU of the server. counts: its tree."""

    number: int
    rss: float
    cores: float
    counts: Mapping[str, int]

    def __str__(self) -> str:
        counts = "  ".join(f"{name} {count}" for name, count in self.counts.items())
        return f"{self.number:4} min  {self.rss / 1e6:7.1f} MB  {self.cores:5.2f} cores  {counts}"


def observe(load: Load, minutes: int, minute_s: float = 60.0) -> Iterator[Minute]:
    """One after the other; ends early where the load has stopped."""
    server = load.broker.server
    for number in range(1, minutes + 1):
        cpu_s, began, readings = server.cpu_s(), time.monotonic(), [server.rss()]
        while (left := began + minute_s - time.monotonic()) > 0:
            if load.stop.wait(min(left, 1)):
                return
            readings.append(server.rss())
        cores = (server.cpu_s() - cpu_s) / (time.monotonic() - began)
        yield Minute(number, statistics.median(readings), cores, tree_counts(load.broker))


def tree_counts(broker: Broker) -> dict[str, int]:
    """How many nodes of each kind the tree has, and what tells of parts that may grow."""
    counts: Counter[str] = Counter()
    figures: dict[str, int] = {}
    for row in rows_of(broker.address):
        counts[row.kind] += 1
        name = FIGURES.get((row.kind, row.name))
        if name is not None:
            figures[f"{row.name}.{name}"] = int(figures_of(row)[name] or 0)
    return {**dict(sorted(counts.items())), **figures}


def verdict(rss: Mapping[int, float]) -> tuple[bool, str]:
    """Whether memory is what it was. rss: bytes by minute."""
    last = max(rss, default=0)
    if last <= SETTLED_MINUTE:
        return True, f"RSS: not judged, it takes more than {SETTLED_MINUTE} minutes"
    settled = rss[SETTLED_MINUTE]
    met = abs(rss[last] - settled) <= TOLERANCE * settled
    return met, (
        f"RSS after {last} minutes is {rss[last] / settled:.3f} times that after {SETTLED_MINUTE}:"
        f" {'met' if met else 'missed'} (1, give or take {TOLERANCE:.0%})"
    )


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks.soak",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--minutes", type=int, default=60, help="how long (%(default)s)")
    parser.add_argument("--check", action="store_true", help="fail where memory has changed")
    parser.add_argument(
        "--broker",
        default="trio-kafka",
        metavar="NAME[=HOST:PORT]",
        help=f"{' or '.join(COMMANDS)}, started here, or one that runs (%(default)s)",
    )
    parser.add_argument("--directory", type=Path, help="for data (the system's temporary one)")
    return parser.parse_args(arguments)


def main(arguments: list[str]) -> int:
    chosen = options(arguments)
    rss: dict[int, float] = {}
    with ExitStack() as stack:
        directory = Path(stack.enter_context(TemporaryDirectory(dir=chosen.directory)))
        name = chosen.broker
        load = Load(
            running(name)
            if "=" in name
            else stack.enter_context(started(name, directory, RETENTION_CHECK))
        )
        print(f"broker: {load.broker.bootstrap}", flush=True)
        topic = stack.enter_context(temporary_topic(load.broker.bootstrap, 1, KEPT))
        stack.enter_context(running_load(load, topic))
        for minute in observe(load, chosen.minutes):
            rss[minute.number] = minute.rss
            print(minute, flush=True)
    print("done: " + ", ".join(f"{count} {what}" for what, count in sorted(load.done.items())))
    met, text = verdict(rss)
    print(*load.errors, text, sep="\n")
    return int(bool(load.errors) or (chosen.check and not met))


if __name__ == "__main__":
    unwind_on_sigterm()
    sys.exit(main(sys.argv[1:]))
