"""Starts with much in the data directory: many logs after a clean stop, large ones after a kill.

The data of a broker is written once in a run of the benchmarks; all measurements use it.
"""

import os
import shutil
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path
from typing import Final

from confluent_kafka.admin import AdminClient, NewTopic

from tests.benchmarks import protocol
from tests.benchmarks.bounds import at_most, times_other
from tests.benchmarks.connection import connect
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.raw import IN_FLIGHT, make_batch
from tests.benchmarks.rows.registry import NotApplicableError, Target, row
from tests.benchmarks.server import Server, cpu_with_children_s
from tests.benchmarks.topics import client_settings, wait_for_leaders
from trio_kafka.errors import ErrorCode
from trio_kafka.log.segment import YOUNGEST_MS
from trio_kafka.testing.processes import Address, BrokerProcess

_TOPIC: Final = "kept"
_SEGMENT_MS: Final = 60_000
_APART_MS: Final = 600_000
_AT_ONCE: Final = 100  # partitions of one request
_WITHIN_S: Final = 300
_RETRY_S: Final = 0.1
_OF_TOPIC: Final = 1000  # partitions
_SETTLED_S: Final = 2.0  # after the first answer, for the figures of memory and files
_CHECKPOINT: Final = "recovery-point-offset-checkpoint"

Start = Callable[[], AbstractContextManager[BrokerProcess]]


@row(
    "start-2000-partitions",
    times_other("first answer", must=1.0, aim=0.5),
    at_most("RSS", must=300, aim=200),
    at_most("open files", must=2500, aim=2200),
    partitions=2000,
    segments=5,
)
def start_many(target: Target, partitions: int, segments: int) -> Figures:
    """Start after a clean stop, with so many partitions of so many segments."""
    directory, start = _place(target, "many-logs")
    if not directory.exists():
        requests = _segment_requests(partitions, segments)
        with start() as broker:
            _create(broker, partitions, {"segment.ms": str(_SEGMENT_MS)})
            _send(broker.address, requests)
    with start() as broker:
        time.sleep(_SETTLED_S)
        server = Server(broker.process.pid)
        return {
            "first answer": Figure(broker.start_s, "s"),
            "RSS": Figure(server.rss() / 1e6, "MB"),
            "open files": Figure(len(os.listdir(f"/proc/{broker.process.pid}/fd")), "files"),
        }


@row(
    "recovery-2-GiB",
    times_other("first answer", must=2.0, aim=1.0),
    partitions=8,
    size=2 << 30,
)
def recover(target: Target, partitions: int, size: int) -> Figures:
    """Start after `kill -9`, with so many bytes in batches of 16 kB that no checkpoint covers."""
    directory, start = _place(target, "large-logs")
    if not directory.exists():
        with start() as broker:
            _create(broker, partitions, {})
            _send(broker.address, _bulk_requests(partitions, size))
            _kill(broker)
    for checkpoint in directory.rglob(_CHECKPOINT):
        checkpoint.unlink()  # an earlier recovery has raised the recovery points
    with start() as broker:
        server = Server(broker.process.pid)
        figures = {
            "first answer": Figure(broker.start_s, "s"),
            "CPU to first answer": Figure(cpu_with_children_s(broker.process.pid), "s"),
            "RSS": Figure(server.rss() / 1e6, "MB"),
        }
        _kill(broker)
    return figures


@row(
    "stop-and-start-9000-partitions",
    at_most("stop", must=5.0, aim=3.0),
    at_most("first answer", must=8.0, aim=5.0),
    partitions=9000,
)
def stop_and_start(target: Target, partitions: int) -> Figures:
    """Stop and start with so many partitions, after as many others were deleted."""
    directory, start = _place(target, "deleted-logs")
    if directory.exists():
        shutil.rmtree(directory)
    with start() as broker:
        admin = AdminClient(client_settings(broker.bootstrap))
        for name in ("gone", _TOPIC):
            for first in range(0, partitions, _OF_TOPIC):
                topic = NewTopic(f"{name}-{first}", min(_OF_TOPIC, partitions - first), 1)
                admin.create_topics([topic], request_timeout=_WITHIN_S)[topic.topic].result()
        gone = [f"gone-{first}" for first in range(0, partitions, _OF_TOPIC)]
        for deleted in admin.delete_topics(gone, request_timeout=_WITHIN_S).values():
            deleted.result()
        began = time.perf_counter()
        broker.stop(_WITHIN_S)
        stop_s = time.perf_counter() - began
    with start() as broker:
        return {"stop": Figure(stop_s, "s"), "first answer": Figure(broker.start_s, "s")}


def _place(target: Target, name: str) -> tuple[Path, Start]:
    """Return where the row keeps the data of this broker, and the start of one on it."""
    if target.broker.start is None:
        raise NotApplicableError("it runs already")
    directory = target.directory / f"{target.broker.name}-{name}"
    # No checkpoint is written between the last record and the kill.
    return directory, partial(target.broker.start, directory, "log.initial.task.delay.ms=3600000")


def _create(broker: BrokerProcess, partitions: int, settings: dict[str, str]) -> None:
    topic = NewTopic(_TOPIC, partitions, 1, config={"retention.ms": "-1", **settings})
    admin = AdminClient(client_settings(broker.bootstrap))
    admin.create_topics([topic], request_timeout=_WITHIN_S)[_TOPIC].result(_WITHIN_S)
    wait_for_leaders(admin, _TOPIC, partitions)


def _segment_requests(partitions: int, segments: int) -> Iterator[bytes]:
    """Yield requests of one record for each partition and segment. Their times make logs roll."""
    begin = int(time.time() * 1000) - segments * _APART_MS
    for number in range(segments):
        time.sleep(2 * YOUNGEST_MS / 1000)  # a younger segment does not roll for its age
        batch = protocol.record_batch([b"v" * 100], begin + number * _APART_MS)
        for first in range(0, partitions, _AT_ONCE):
            count = min(_AT_ONCE, partitions - first)
            yield protocol.produce_request(_TOPIC, batch, -1, count, first)


def _bulk_requests(partitions: int, size: int) -> Iterator[bytes]:
    """Yield requests of one batch for each partition, `size` bytes in all."""
    batch, _ = make_batch(100, 16_000)
    request = protocol.produce_request(_TOPIC, batch, -1, partitions)
    for _ in range(max(size // (len(batch) * partitions), 1)):
        yield request


def _send(address: Address, requests: Iterator[bytes]) -> None:
    """Send the requests, a few in flight. ValueError for an error in an answer.

    Many rolls at once exhaust the descriptors: the request is sent again, as clients do. Records
        that it has written are written twice, with their first time.
    """
    waiting: deque[bytes] = deque()
    with connect(address) as connection:

        def check() -> None:
            request = waiting.popleft()
            error = protocol.produce_error(_TOPIC, connection.answer())
            if error == ErrorCode.REPLICA_NOT_AVAILABLE:
                time.sleep(_RETRY_S)
                connection.send(request)
                waiting.append(request)
            elif error:
                raise ValueError(f"Produce: error {error}")

        for request in requests:
            connection.send(request)
            waiting.append(request)
            while len(waiting) >= IN_FLIGHT:
                check()
        while waiting:
            check()


def _kill(broker: BrokerProcess) -> None:
    broker.process.kill()
    broker.process.wait()
