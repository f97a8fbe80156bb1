"""Serves one connection with hypercorn; the only importer of hypercorn.

`plane` imports it for the first client: that costs 0.2 s of CPU time and 6 MB.

hypercorn's server of one connection is used, `hypercorn.trio.serve` is not: that accepts any number
of connections, ends as a whole when one of them breaks hypercorn, and hides its connections. The
lifespan protocol is not supported: a mounted app lives as long as its plugin.
"""

import logging
from collections.abc import Awaitable, Callable
from math import inf
from typing import Any
from wsgiref.handlers import format_date_time

import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Event, RawData, Updated
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext

from trio_kafka_http.settings import HttpSettings
from trio_kafka_http.socket_stream import SocketStream

App = Callable[[Any, Any, Any], Awaitable[None]]


class _Config(Config):
    """Headers of every response: the date by World's clock, and no server name."""

    def __init__(self, settings: HttpSettings, wall: Callable[[], float]) -> None:
        self._wall = wall
        self.h11_max_incomplete_size = settings.max_header_bytes
        self.h2_max_header_list_size = settings.max_header_bytes
        self.h2_max_concurrent_streams = 1
        self.ssl_handshake_timeout = inf  # as below
        self.keep_alive_timeout = inf  # the stream has this timeout
        self.websocket_max_message_size = 0
        self.accesslog = None
        self.errorlog = logging.getLogger(__name__)

    def response_headers(self, protocol: str) -> list[tuple[bytes, bytes]]:
        del protocol
        return [(b"date", format_date_time(self._wall()).encode())]


class _Server(TCPServer):
    """hypercorn's server of one connection, without what each request costs for nothing: a task
    for its idle time, which is cancelled when the next request comes, and a send of no bytes.

    A page that is kept up to date asks again each two seconds: this saves a third of an answer.
    """

    _is_idle = True

    async def protocol_send(self, event: Event) -> None:
        if isinstance(event, Updated):
            self._is_idle = event.idle
        elif not isinstance(event, RawData) or event.data:
            await super().protocol_send(event)

    async def _read_data(self) -> None:
        """Serve HTTP/1.1 and nothing else: an upgrade is ignored, as RFC 9110 §7.8 lets a server.

        By an upgrade to h2c a client could get a tunnel through a proxy that guards this plane.
        """
        protocol: Any = self.protocol.protocol
        protocol._check_protocol = _keep_protocol  # noqa: SLF001 - hypercorn has no setting for it
        await super()._read_data()

    async def _idle_timeout(self) -> None:
        """Close the connection when the plane ends; a request in flight is answered first."""
        await self.context.terminated.wait()
        if self._is_idle:  # after a request, hypercorn closes by itself
            with trio.CancelScope(shield=True):
                await self._initiate_server_close()


async def _keep_protocol(event: object) -> None:
    """Take the place of hypercorn's check for another protocol."""
    del event
    await trio.lowlevel.checkpoint()


class Engine:
    """Server of connections by hypercorn, with one configuration for all."""

    def __init__(self, settings: HttpSettings, wall: Callable[[], float]) -> None:
        self._config = _Config(settings, wall)
        self._context = WorkerContext(None)

    async def serve(self, app: App, stream: SocketStream) -> None:
        """Serve all requests of a connection in turn. Raises hypercorn's failures."""
        server = _Server(
            ASGIWrapper(app),
            self._config,
            self._context,
            {},
            stream,  # type: ignore[arg-type]  # the part that hypercorn uses
        )
        await server.run()

    async def finish(self) -> None:
        """Close each connection after its request in flight."""
        await self._context.terminated.set()
