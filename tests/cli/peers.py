"""Servers that are no broker, and a relay that stops in the middle of an answer."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Final

from trio_kafka.testing.ports import LOOPBACK

Behave = Callable[[socket.socket], object]
_HEAD: Final = struct.Struct(">i")
_KEY: Final = struct.Struct(">h")


def http(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")


def tls(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(bytes([21, 3, 3, 0, 2, 2, 70]))  # an alert: protocol version


def ssh(connection: socket.socket) -> None:
    connection.sendall(b"SSH-2.0-OpenSSH_9.2\r\n")
    connection.recv(4096)


def garbage(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(bytes([0, 0, 0, 8]) + b"\xff" * 8)


def endless(connection: socket.socket) -> None:
    connection.recv(4096)
    connection.sendall(b"\x7f\xff\xff\xff" + bytes(100))


def half(connection: socket.socket) -> None:
    request = connection.recv(4096)
    connection.sendall(bytes([0, 0, 1, 0]) + request[8:12] + bytes(10))


def silent(connection: socket.socket) -> None:
    while connection.recv(4096):
        pass


def closed(connection: socket.socket) -> None:
    connection.recv(4096)


@contextmanager
def serving(behave: Behave) -> Iterator[str]:
    """Serve each connection in a thread, and yield the address."""
    listener = socket.create_server((LOOPBACK, 0))

    def treat(connection: socket.socket) -> None:
        with connection, suppress(OSError):
            behave(connection)

    def serve() -> None:
        with suppress(OSError):
            while True:
                connection, _ = listener.accept()
                threading.Thread(target=treat, args=[connection], daemon=True).start()

    thread = threading.Thread(target=serve, daemon=True)
    thread.start()
    try:
        yield f"{LOOPBACK}:{listener.getsockname()[1]}"
    finally:
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
        listener.close()
        thread.join()


class Relay:
    """Passes requests of all connections on to a broker, until `answers` have come back.

    The next answer is cut in its middle. seen: called with the key of each request; true: the
    request is not passed on, and its connection stays silent. The port of the broker in answers
    becomes that of the relay, so that clients stay with it.
    """

    def __init__(
        self,
        bootstrap: str,
        *,
        answers: int = 1 << 30,
        seen: Callable[[int], bool] = lambda _key: False,
    ) -> None:
        host, _, port = bootstrap.rpartition(":")
        self.address = (host, int(port))
        self.answers = answers
        self.seen = seen

    def __call__(self, connection: socket.socket) -> None:
        with socket.create_connection(self.address) as broker:
            while request := _frame(connection):
                if self.seen(_KEY.unpack_from(request, _HEAD.size)[0]):
                    connection.recv(1)  # until the client gives up
                    return
                broker.sendall(request)
                own = connection.getsockname()[1]
                answer = _frame(broker).replace(_HEAD.pack(self.address[1]), _HEAD.pack(own))
                if self.answers <= 0:
                    connection.sendall(answer[: len(answer) // 2])
                    return
                self.answers -= 1
                connection.sendall(answer)


def _frame(stream: socket.socket) -> bytes:
    """Return the next frame with its length; empty at the end of the stream."""
    head = _exactly(stream, _HEAD.size)
    return head + _exactly(stream, _HEAD.unpack(head)[0]) if head else b""


def _exactly(stream: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count:
        part = stream.recv(count - len(data))
        if not part:
            return b""
        data += part
    return bytes(data)
