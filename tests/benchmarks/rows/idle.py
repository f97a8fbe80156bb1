"""Clients that wait and should cost nothing: idle connections that stay open, parked polls."""

import resource
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from tests.benchmarks import protocol
from tests.benchmarks.bounds import at_most, times_other
from tests.benchmarks.connection import connect, keep_asking
from tests.benchmarks.figures import Figure, Figures, rate
from tests.benchmarks.rows.registry import Target, row
from trio_kafka.testing.processes import Address

_PARKED_MS = 600_000
_CONSUMER_WAIT_MS = 500  # fetch.max.wait.ms of every client, if it is not told otherwise


@row("idle-5000", at_most("memory", must=6, aim=3), count=5000)
def idle(target: Target, count: int) -> Figures:
    """Connections that were used once. Memory is that of a fresh broker: one that has worked puts
    them where others have been.
    """
    with target.meter() as meter, held(target.broker.address, count):
        pass
    with target.fresh() as fresh:
        return {
            "connect and ask": rate(count / meter.wall_s, "/s"),
            "server CPU": Figure(meter.server_cpu_s / count * 1e6, "µs each"),
            "memory": Figure(memory(fresh, count) / count / 1000, "kB each"),
        }


def memory(target: Target, count: int) -> int:
    """Bytes that `count` connections add."""
    with held(target.broker.address, 50):
        pass  # what a server sets up for the first ones is not theirs
    before = target.broker.server.rss()
    with held(target.broker.address, count):
        time.sleep(1)  # a server may set up a connection after its first answer
        return max(target.broker.server.rss() - before, 0)


@contextmanager
def held(address: Address, count: int) -> Iterator[list[socket.socket]]:
    """Connections that have had one answer each. ConnectionError: one was closed meanwhile."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with ExitStack() as stack:
        connections = [stack.enter_context(used_connection(address)) for _ in range(count)]
        yield connections
        for each in connections:
            each.setblocking(False)
            if is_closed(each):
                raise ConnectionError("a connection was closed while it was idle")


def used_connection(address: Address) -> socket.socket:
    """A connection that has had one answer."""
    connection = socket.create_connection(address, 10)
    connection.sendall(protocol.frame(protocol.API_VERSIONS, 0))
    if not connection.recv(65536):
        raise ConnectionError("closed by the broker")
    return connection


def is_closed(connection: socket.socket) -> bool:
    try:
        return not connection.recv(65536)
    except BlockingIOError:
        return False


@row("idle-parked", times_other("parked", must=1, aim=0.5), partitions=1000, polls=100)
def parked(target: Target, partitions: int, polls: int) -> Figures:
    """Long polls, each for its share of the partitions, which nobody writes: server CPU a second.

    parked: polls that last longer than this row. polled: as consumers do, anew when they end empty.
    """
    share = partitions // polls
    with target.topic(partitions) as topic, ExitStack() as stack:
        sockets = [
            stack.enter_context(used_connection(target.broker.address)) for _ in range(polls)
        ]

        def requests(wait_ms: int) -> list[bytes]:
            return [
                protocol.poll_request(
                    topic, [(number, 0) for number in range(first, first + share)], wait_ms=wait_ms
                )
                for first in range(0, polls * share, share)
            ]

        with connect(target.broker.address) as first:
            answer_size = len(first.call(requests(0)[0])) + 4
        with target.meter() as polled:
            asked_again = list(zip(sockets, requests(_CONSUMER_WAIT_MS), strict=True))
            keep_asking(asked_again, answer_size, 1, target.seconds)
        for each, request in zip(sockets, requests(_PARKED_MS), strict=True):
            each.sendall(request)
        target.broker.server.wait_until_idle()  # all are parked
        with target.meter() as waiting:
            time.sleep(target.seconds)
        for each in sockets:
            each.setblocking(False)
            try:
                raise ConnectionError(f"a poll is not parked: {len(each.recv(65536))} bytes came")
            except BlockingIOError:
                continue
        return {
            "parked": Figure(waiting.server_cpu_s / waiting.wall_s * 1e3, "ms/s"),
            "polled": Figure(polled.server_cpu_s / polled.wall_s * 1e3, "ms/s"),
        }
