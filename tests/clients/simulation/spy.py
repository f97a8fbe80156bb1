"""Notes of the bytes that clients have handed to their simulated sockets."""

from collections.abc import Iterator
from contextlib import contextmanager

from trio_kafka.testing.simulate.lives import CLIENTS
from trio_kafka.world.simulated.socket import MemorySocket


class SentBytes:
    """Bytes by connection, as far as the sockets took them."""

    def __init__(self) -> None:
        self._by_socket: dict[int, bytearray] = {}

    def note(self, key: int, data: bytes) -> None:
        self._by_socket.setdefault(key, bytearray()).extend(data)

    def __contains__(self, value: bytes) -> bool:
        return any(value in data for data in self._by_socket.values())


@contextmanager
def sent_bytes() -> Iterator[SentBytes]:
    """Note what the machine of the clients sends during the block."""
    notes = SentBytes()
    send = MemorySocket.send

    def noting(socket: MemorySocket, data: bytes) -> int:
        count = send(socket, data)
        if socket.world.name == CLIENTS:
            notes.note(id(socket), bytes(data[:count]))
        return count

    MemorySocket.send = noting  # type: ignore[method-assign, assignment]
    try:
        yield notes
    finally:
        MemorySocket.send = send  # type: ignore[method-assign]
