"""Handshakes of a task, and sockets of clients."""

import ssl
from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import Endpoint
from trio_kafka.security.tls.contexts import client_context
from trio_kafka.security.tls.settings import TlsSettings
from trio_kafka.security.tls.socket import TlsSocket, new_arrival_buffer
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World

HANDSHAKE_S: Final = 10.0
"""Longest time of a handshake that a broker allows. Kafka allows connections.max.idle.ms."""


async def shake_hands(
    socket: TlsSocket,
    turn: trio.Lock | None = None,
    on_step: Callable[[], None] = lambda: None,
) -> None:
    """Shake hands. The caller sets the deadline. Raises TlsError, OSError.

    turn: held for each step, so that a pass of the loop has one expensive step at most.
    on_step: called after each step that was not the last.
    """
    while True:
        try:
            if turn is None:
                socket.handshake()
            else:
                async with turn:
                    socket.handshake()
        except BlockingIOError:
            on_step()
            if socket.is_blocked:
                await socket.wait_writable()
            else:
                await socket.wait_readable()
        else:
            await trio.lowlevel.checkpoint()
            return


@define(eq=False)
class TlsOpener:
    """Opens sockets of one client with TLS, after `load`."""

    _world: World
    _settings: TlsSettings
    _context: ssl.SSLContext | None = field(default=None, init=False)
    _arrived: memoryview = field(factory=new_arrival_buffer, init=False)

    async def load(self) -> None:
        """Make the context. Raises ConfigError for stores that cannot be used."""
        self._context = await self._world.run_in_thread(client_context, self._settings)

    async def open(self, endpoint: Endpoint, plain: Socket) -> TlsSocket:
        """Return the socket with TLS over a connected one, which it owns, also when it fails.

        Raises TlsError, OSError.
        """
        if self._context is None:
            raise RuntimeError("load the stores first")
        try:
            socket = TlsSocket(plain, self._context, arrived=self._arrived, host=endpoint.host)
            await shake_hands(socket)
        except BaseException:
            plain.abort()
            raise
        return socket
