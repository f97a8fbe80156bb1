"""Many small requests: what one request costs."""

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

from tests.benchmarks import protocol
from tests.benchmarks.bounds import times_other
from tests.benchmarks.connection import connect, keep_asking
from tests.benchmarks.figures import Figure, Figures
from tests.benchmarks.rows.registry import Target, row
from tests.benchmarks.topics import watermarks

CPU: Final = partial(times_other, "server CPU")


@row("api-versions-1x32", connections=1, depth=32)
@row("api-versions-50x8", CPU(must=0.5, aim=0.3), connections=50, depth=8)
def api_versions(target: Target, connections: int, depth: int) -> Figures:
    return ask(target, protocol.frame(protocol.API_VERSIONS, 0), connections, depth)[0]


@row("metadata-1x32", connections=1, depth=32)
@row("metadata-50x8", CPU(must=0.9, aim=0.6), connections=50, depth=8)
def metadata(target: Target, connections: int, depth: int) -> Figures:
    with target.topic() as topic:
        return ask(target, protocol.metadata_request(topic), connections, depth)[0]


@row("produce-small-50x1", CPU(must=1.6, aim=1.2), connections=50, depth=1)
@row("produce-small-50x8", connections=50, depth=8)
def produce_small(target: Target, connections: int, depth: int) -> Figures:
    """One record of 100 bytes a request, acks=1; all of them must be in the log afterwards."""
    batch = protocol.record_batch([b"x" * 100])
    with target.topic() as topic:
        request = protocol.produce_request(topic, batch, acks=1)
        figures, count = ask(target, request, connections, depth)
        low, high = watermarks(target.broker.bootstrap, topic)
        if high - low != count:
            raise ValueError(f"{count} records acknowledged, {high - low} kept")
        return figures


@row("produce-100-partitions", CPU(must=1.5, aim=1), partitions=100)
def produce_many(target: Target, partitions: int) -> Figures:
    """One record of 100 bytes to each of many partitions a request, acks=1, one connection."""
    batch = protocol.record_batch([b"x" * 100])
    with target.topic(partitions) as topic:
        request = protocol.produce_request(topic, batch, acks=1, partitions=partitions)
        figures, count = ask(target, request, connections=1, depth=1)
        for number in (0, partitions - 1):
            low, high = watermarks(target.broker.bootstrap, topic, number)
            if high - low != count:
                raise ValueError(f"{count} acknowledged, {high - low} kept in partition {number}")
        return figures


@row("produce-small-1x1", CPU(must=2, aim=1.4), times_other("p50", must=2, aim=1.3))
def latency(target: Target) -> Figures:
    """One record of 100 bytes, acks=1, the next one when the answer is there."""
    times = []
    with target.topic() as topic, connect(target.broker.address) as connection:
        request = protocol.produce_request(topic, protocol.record_batch([b"x" * 100]), acks=1)
        end = time.perf_counter() + target.seconds
        with target.meter() as meter:
            while (began := time.perf_counter()) < end:
                answer = connection.call(request)
                times.append(time.perf_counter() - began)
                if error := protocol.produce_error(topic, answer):
                    raise ValueError(f"Produce: error {error}")
    times.sort()
    return {
        "p50": Figure(times[len(times) // 2] * 1e6, "µs"),
        "p99": Figure(times[len(times) * 99 // 100] * 1e6, "µs"),
        "server CPU": meter.requests(len(times))["server CPU"],
    }


def ask(target: Target, request: bytes, connections: int, depth: int) -> tuple[Figures, int]:
    """The figures, and how many requests were answered in all."""
    with connect(target.broker.address) as first:
        answer_size = len(first.call(request)) + 4
    with opened(target, connections) as sockets, target.meter() as meter:
        answered = keep_asking(
            [(each, request) for each in sockets], answer_size, depth, target.seconds
        )
    return meter.requests(answered), answered + 1


@contextmanager
def opened(target: Target, count: int) -> Iterator[list[socket.socket]]:
    sockets: list[socket.socket] = []
    try:
        for _ in range(count):
            each = socket.create_connection(target.broker.address, 10)
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(each)
        yield sockets
    finally:
        for each in sockets:
            each.close()
