"""Clients that no broker wishes for: crowds that connect, readers that do not read, promises.

Each has an address of its own of this machine's loopback net, where a limit is of an address.
"""

import resource
import socket
import struct
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from tests.benchmarks import protocol
from tests.benchmarks.soak.load import Load
from trio_kafka.testing.processes import Address

STORM = "STORM"  # a listener of few connections, at a low rate
STORMY, CROWDED, HASTY, PROMISING = "127.0.0.2", "127.0.0.3", "127.0.0.4", "127.0.0.5"
CROWD = 20  # connections that CROWDED may have
HASTE = 10  # connections a second that HASTY may make
LARGEST = 16 << 20  # socket.request.max.bytes
_SMALL = 4096
_ASK = protocol.frame(protocol.API_VERSIONS, 0)


def storm(load: Load, topic: str) -> None:
    """Twice as many connects as there are other connections, at once, to a listener that lets in a
    quarter; half of them end by a reset.
    """
    del topic
    allow_descriptors()
    for _ in load.paced(2):
        with crowd(load.places[STORM], load.connections * 2, STORMY) as sockets:
            if load.stop.wait(1):
                return
            for connection in sockets[::2]:
                reset(connection)
            load.done["connects of storms"] += len(sockets)


def crowd_one_address(load: Load, topic: str) -> None:
    """More connections of one address than it may have: the others are closed unanswered."""
    del topic
    for _ in load.paced(1):
        with crowd(load.broker.address, CROWD * 3, CROWDED) as sockets:
            answered = 0
            for connection in sockets:
                connection.settimeout(5)
                with suppress(OSError):
                    connection.sendall(_ASK)
                    answered += bool(connection.recv(_SMALL))
            if answered > CROWD:
                raise ValueError(f"{answered} connections of one address, want {CROWD} at most")
            load.done["of a crowd, answered"] += answered
            load.done["of a crowd, refused"] += len(sockets) - answered


def connect_in_haste(load: Load, topic: str) -> None:
    """Connects at four times the rate that an address may have."""
    del topic
    for _ in load.paced(1 / (4 * HASTE)):
        with crowd(load.broker.address, 1, HASTY):
            load.done["connects in haste"] += 1


def never_read(load: Load, topic: str) -> None:
    """Each asks for many megabytes, and reads none of them."""
    del topic
    ask = protocol.poll_request(load.full, [(0, 0)], partition_size=1 << 20)
    while not load.stop.is_set():
        with crowd(load.broker.address, readers(load), small=True) as sockets:
            for connection in sockets:
                with suppress(BlockingIOError, ConnectionError):
                    connection.sendall(ask * 20)
            load.done["readers that never read"] += len(sockets)
            load.stop.wait(5)


def read_slowly(load: Load, topic: str) -> None:
    """The same, at 40 kB/s."""
    del topic
    ask = protocol.poll_request(load.full, [(0, 0)], partition_size=1 << 20)
    while not load.stop.is_set():
        with crowd(load.broker.address, readers(load), small=True) as sockets:
            for connection in sockets:
                with suppress(BlockingIOError, ConnectionError):
                    connection.sendall(ask * 5)
            for _ in range(50):
                if load.stop.wait(0.1):
                    return
                for connection in sockets:
                    with suppress(BlockingIOError, ConnectionError):
                        load.done["bytes read slowly"] += len(connection.recv(_SMALL))


def promise_giants(load: Load, topic: str) -> None:
    """Sizes of 16 MB with a few bytes behind them, which are never followed by the rest. Those that
    are let in fill the pool of memory: others wait until they have gone.
    """
    del topic
    for _ in load.paced(5):
        with crowd(load.broker.address, readers(load), PROMISING) as sockets:
            for connection in sockets:
                with suppress(BlockingIOError, ConnectionError):
                    connection.sendall(struct.pack(">i", LARGEST - 1) + _ASK[4:])
            load.stop.wait(0.5)
            for connection in sockets:
                reset(connection)
            load.done["giants promised"] += len(sockets)


def reset_halfway(load: Load, topic: str) -> None:
    """Connections that end by a reset in the middle of a request, or before its answer."""
    ask = protocol.metadata_request(topic)
    for number in load.paced(0.05):
        with crowd(load.broker.address, 1) as sockets:
            for connection in sockets:
                with suppress(BlockingIOError, ConnectionError):
                    connection.sendall(ask if number % 2 else ask[: len(ask) // 2])
                reset(connection)
            load.done["resets"] += 1


def readers(load: Load) -> int:
    return max(load.connections // 10, 2)


@contextmanager
def crowd(
    address: Address, count: int, of: str = "127.0.0.1", *, small: bool = False
) -> Iterator[Sequence[socket.socket]]:
    """So many connects at once, whatever becomes of them. of: the address that they come from.
    small: the kernel keeps little for who does not read.
    """
    with ExitStack() as stack:
        sockets = []
        for _ in range(count):
            connection = stack.enter_context(socket.socket())
            if small:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, _SMALL)
            if of != "127.0.0.1":
                connection.bind((of, 0))
            connection.settimeout(5)
            if count <= CROWD * 3:  # the others are too many to be waited for
                with suppress(OSError):
                    connection.connect(address)
            else:
                connection.setblocking(False)
                connection.connect_ex(address)
            connection.setblocking(False)
            sockets.append(connection)
        yield sockets


def reset(connection: socket.socket) -> None:
    """End it without a word."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def allow_descriptors() -> None:
    """As many as this process may have."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
