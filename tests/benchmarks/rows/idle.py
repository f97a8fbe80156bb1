"""Connections that were used once and are kept open: what each of them holds."""

import resource
import socket
import time
from contextlib import ExitStack

from tests.benchmarks import protocol
from tests.benchmarks.figures import Figure, Figures, rate
from tests.benchmarks.rows.registry import Target, row
from trio_kafka.testing.processes import Address


@row("idle-2000", count=2000)
def idle(target: Target, count: int) -> Figures:
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    before = target.broker.server.rss()
    with ExitStack() as stack:
        with target.meter() as meter:
            held = [stack.enter_context(asked(target.broker.address)) for _ in range(count)]
        time.sleep(1)  # a server may set up a connection after its first answer
        grown = target.broker.server.rss() - before
        for each in held:
            each.setblocking(False)
            if is_closed(each):
                raise ConnectionError("a connection was closed while it was idle")
    return {
        "connect and ask": rate(count / meter.wall_s, "/s"),
        "server CPU": Figure(meter.server_cpu_s / count * 1e6, "µs each"),
        "memory": Figure(max(grown, 0) / count / 1000, "kB each"),
    }


def asked(address: Address) -> socket.socket:
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
