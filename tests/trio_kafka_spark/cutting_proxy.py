"""A proxy on loopback that breaks connections after so many bytes, in either direction."""

import contextlib
import random
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from attrs import define, field

LOOPBACK = "127.0.0.1"


@define
class CuttingProxy:
    """Forwards connections to `target`; each breaks after up to `most` bytes, while `cutting`."""

    server: socket.socket
    dice: random.Random
    most: int
    target: tuple[str, int] | None = None
    cutting: bool = False
    cuts: int = 0
    _pairs: list[socket.socket] = field(factory=list)

    @property
    def port(self) -> int:
        return int(self.server.getsockname()[1])

    def serve(self) -> None:
        while True:
            try:
                client, _ = self.server.accept()
                assert self.target is not None
                broker = socket.create_connection(self.target)
            except OSError:
                return
            self._pairs += [client, broker]
            for pair in ((client, broker), (broker, client)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, sink: socket.socket) -> None:
        rest = self.dice.randrange(1, self.most)
        with contextlib.suppress(OSError):
            while data := source.recv(16 << 10):
                rest -= len(data)
                if self.cutting and rest < 0:
                    self.cuts += 1
                    sink.sendall(data[: len(data) // 2])
                    break
                sink.sendall(data)
        for end in (source, sink):
            with contextlib.suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        with contextlib.suppress(OSError):
            self.server.shutdown(socket.SHUT_RDWR)
        for end in [self.server, *self._pairs]:
            end.close()


@contextmanager
def cutting_proxy(seed: int, most: int) -> Iterator[CuttingProxy]:
    """A proxy that forwards until the block ends."""
    server = socket.create_server((LOOPBACK, 0))
    proxy = CuttingProxy(server, random.Random(seed), most)
    thread = threading.Thread(target=proxy.serve, daemon=True)
    thread.start()
    try:
        yield proxy
    finally:
        proxy.close()
        thread.join(10)
