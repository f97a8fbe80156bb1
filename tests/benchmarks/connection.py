"""Raw clients that cost next to nothing: one connection, or many with requests in flight."""

import select
import socket
import ssl
import struct
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from trio_kafka.testing.processes import Address

_LARGEST = 16 << 20
_SILENCE_S = 10


class Connection:
    """One blocking connection; an answer is a view that is valid until the next call."""

    def __init__(
        self, address: Address, largest: int = _LARGEST, tls: ssl.SSLContext | None = None
    ) -> None:
        self.socket = socket.create_connection(address, 30)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=address[0])
        self._buffer = bytearray(largest)

    def send(self, request: bytes) -> None:
        self.socket.sendall(request)

    def answer(self) -> memoryview:
        """The next answer, without its length."""
        (size,) = struct.unpack(">i", self._read(4))
        if not 4 <= size <= len(self._buffer):
            raise ValueError(f"answer of {size} bytes")
        return self._read(size)

    def _read(self, size: int) -> memoryview:
        view, got = memoryview(self._buffer)[:size], 0
        while got < size:
            received = self.socket.recv_into(view[got:])
            if not received:
                raise ConnectionError("closed by the broker")
            got += received
        return view

    def call(self, request: bytes) -> memoryview:
        self.send(request)
        return self.answer()


@contextmanager
def connect(address: Address, largest: int = _LARGEST) -> Iterator[Connection]:
    """largest: the largest answer that will be read; it has its room from the beginning."""
    connection = Connection(address, largest)
    try:
        yield connection
    finally:
        connection.socket.close()


def keep_asking(
    connections: Iterable[tuple[socket.socket, bytes]], answer_size: int, depth: int, seconds: float
) -> int:
    """Send `depth` requests on each connection, again when all are answered; the number of answers.

    connections: each with its request.
    Every answer must have the same size, length included; what they say is for others to check.
    """
    due = answer_size * depth
    buffer = bytearray(1 << 20)
    by_key = {each.fileno(): (each, request * depth) for each, request in connections}
    unread = dict.fromkeys(by_key, due)
    answered, waiting = 0, len(by_key)
    end = time.perf_counter() + seconds
    with select.epoll() as poll:
        for key, (each, burst) in by_key.items():
            poll.register(key, select.EPOLLIN)
            each.sendall(burst)
        while waiting:
            ready = poll.poll(_SILENCE_S)
            if not ready:
                raise TimeoutError(f"no answer for {_SILENCE_S} s")
            for key, _ in ready:
                each, burst = by_key[key]
                received = each.recv_into(buffer)
                if not received:
                    raise ConnectionError("closed by the broker")
                unread[key] -= received
                if unread[key] > 0:
                    continue
                if unread[key] < 0:
                    raise ValueError(f"{-unread[key]} bytes too many: answers differ in size")
                answered += depth
                if time.perf_counter() < end:
                    unread[key] = due
                    each.sendall(burst)
                else:
                    waiting -= 1
    return answered
