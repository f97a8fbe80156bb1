"""The plane: listeners and their connections, each with its own tasks.

A connection that fails is closed, and no other is affected. Cancelling the plane resets all of them
at once: a client that does not read cannot delay that.
"""

import errno
import logging
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Final

import trio

from trio_kafka.errors import leaves
from trio_kafka.introspect.log import Logger
from trio_kafka.introspect.metrics import Counter
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.world.protocols import Listener, Socket
from trio_kafka.world.world import World
from trio_kafka_http.connection import Connection
from trio_kafka_http.dispatcher import Dispatcher
from trio_kafka_http.plane_statistics import PlaneStatistics
from trio_kafka_http.settings import HttpListener, HttpSettings
from trio_kafka_http.tls import HttpTls

if TYPE_CHECKING:
    from trio_kafka_http.serving import Engine

NAME: Final = "plane http"
_EXHAUSTED_S: Final = 0.1  # pause while descriptors are exhausted
_EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
_RESERVED: Final = 8  # connections reserved for probes, beside `max.connections`
_FULL: Final = b'{"error_code": 503, "message": "too many connections"}\n'
_RESETS: Final = (ConnectionError, trio.BrokenResourceError, trio.ClosedResourceError)
_REFUSAL: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: application/json\r\n"
    b"connection: close\r\ncontent-length: %d\r\n\r\n%s" % (len(_FULL), _FULL)
)


class HttpPlane:
    """Listeners and connections of the HTTP plane. node: their parent in the tree.

    tls: of the https listeners; None: there are none.
    """

    def __init__(
        self,
        *,
        settings: HttpSettings,
        world: World,
        dispatcher: Dispatcher,
        statistics: PlaneStatistics,
        node: Node,
        counter: Callable[..., Counter],
        logger: Logger,
        tls: HttpTls | None = None,
    ) -> None:
        self._settings = settings
        self._tls = tls
        self._world = world
        self._dispatcher = dispatcher
        self._statistics = statistics
        self._node = node
        self._logger = logger
        self._accepted = counter("http_connections")
        self._refused = counter("http_connections_refused")
        self._broken = counter("http_connections_broken")
        self._connections: dict[Connection, None] = {}
        self._accepting = trio.CancelScope()
        self._changed = trio.Event()
        self._loading = trio.Lock()
        self._engine: Engine | None = None
        self._exhausted = 0

    async def run(
        self, listeners: Sequence[HttpListener], *, task_status: trio.TaskStatus[list[Endpoint]]
    ) -> None:
        """Serve until drained or cancelled; started with the addresses. Raises OSError."""
        with self._node.child(NAME, "plane", self._figures) as node:
            async with trio.open_nursery() as nursery:
                try:
                    await self._accept_all(listeners, node, nursery, task_status=task_status)
                    while self._connections:
                        await self._changed.wait()
                finally:
                    for connection in list(self._connections):
                        connection.abort()

    @property
    def has_connections(self) -> bool:
        """True while clients are connected."""
        return bool(self._connections)

    async def drain(self) -> None:
        """Stop accepting, answer requests in flight, and return when all connections are closed."""
        self._accepting.cancel()
        if self._engine is not None:
            await self._engine.finish()
        while self._connections:
            await self._changed.wait()

    async def _accept_all(
        self,
        listeners: Sequence[HttpListener],
        node: Node,
        nursery: trio.Nursery,
        *,
        task_status: trio.TaskStatus[list[Endpoint]],
    ) -> None:
        with ExitStack() as held, self._accepting:
            bound = []
            for settings in listeners:
                listener = await self._listen(settings)
                held.callback(listener.close)
                url = settings.url(listener.address)
                place = held.enter_context(node.child(url, "listener"))
                bound.append((listener, place, self._tls if settings.is_secured else None))
            task_status.started([listener.address for listener, _, _ in bound])
            async with trio.open_nursery() as acceptors:
                for listener, place, tls in bound:
                    accept = self._accept
                    acceptors.start_soon(accept, listener, place, tls, nursery, name=place.name)

    async def _listen(self, listener: HttpListener) -> Listener:
        endpoint = listener.endpoint
        try:
            return await self._world.network.listen(endpoint.host, endpoint.port)
        except OSError as error:
            raise OSError(error.errno, error.strerror, listener.url(endpoint)) from error

    async def _accept(
        self, listener: Listener, node: Node, tls: HttpTls | None, nursery: trio.Nursery
    ) -> None:
        while True:
            try:
                socket = await listener.accept()
            except OSError as error:
                if isinstance(error, ConnectionError):
                    continue  # the client left before it was accepted
                if error.errno not in _EXHAUSTED:
                    raise
                if not self._exhausted:
                    self._logger.error("descriptors exhausted", error=error)  # noqa: TRY400
                self._exhausted += 1
                await trio.sleep(_EXHAUSTED_S)
                continue
            full = self._ordinary >= self._settings.max_connections
            if full and not self._make_room_for_probe():
                self._refuse(socket, is_secured=tls is not None)
                continue
            self._accepted.value += 1
            connection = Connection(socket, node, self._settings, tls=tls, probes_only=full)
            self._connections[connection] = None
            nursery.start_soon(self._serve, connection, name=f"http {socket.peer}")

    @property
    def _ordinary(self) -> int:
        """Number of connections that are not reserved for probes."""
        return len(self._connections) - len(self._probes)

    def _make_room_for_probe(self) -> bool:
        """Return True if another connection for a probe is allowed.

        The oldest one without a request is closed for it: slow clients cannot keep probes out, as a
        probe sends its request at once.
        """
        waiting = [connection for connection in self._probes if not connection.gone]
        if len(waiting) < _RESERVED:
            return True
        for connection in waiting:
            if not connection.is_busy:
                connection.abort()
                return True
        return False

    def _refuse(self, socket: Socket, *, is_secured: bool) -> None:
        """Send 503 as far as possible without waiting for the client, and close.

        With TLS that would take a handshake, so the connection is closed only.
        """
        self._refused.value += 1
        try:
            if not is_secured:
                socket.send(_REFUSAL)
            socket.shutdown_write()
        except OSError:
            pass
        finally:
            socket.close()

    async def _serve(self, connection: Connection) -> None:
        try:
            engine = self._engine or await self._load()
            await connection.run(engine, self._dispatcher)
        except* Exception as errors:  # noqa: BLE001 - one connection fails
            causes = leaves(errors)
            # A client that resets its connection is no error here.
            is_reset = all(isinstance(cause, _RESETS) for cause in causes)
            if not is_reset:
                self._broken.value += 1
            self._logger.log(
                logging.DEBUG if is_reset else logging.WARNING,
                "connection broken",
                peer=connection.node.name,
                reason=f"{causes[0]!r}",
            )
        finally:
            connection.close()  # also one that was never served, as hypercorn was not there yet
            self._connections.pop(connection)
            self._refused.value += connection.was_refused
            self._changed.set()
            self._changed = trio.Event()

    async def _load(self) -> "Engine":
        """Import hypercorn for the first client.

        In a thread: the loop's passes then have a p99 of 5 ms, instead of one pass of 0.2 s.
        """
        async with self._loading:
            if self._engine is None:
                engine_of = await self._world.run_in_thread(_engine)
                self._engine = engine_of(self._settings, self._world.clock.wall)
            return self._engine

    @property
    def _probes(self) -> list[Connection]:
        """Connections reserved for probes, oldest first."""
        return [connection for connection in self._connections if connection.probes_only]

    def _figures(self) -> Figures:
        return {
            "connections": self._ordinary,
            "most": self._settings.max_connections,
            "probes": len(self._probes),
            "accepted": self._accepted.value,
            "refused": self._refused.value,
            "broken": self._broken.value,
            "exhausted": self._exhausted,
            **self._statistics.figures(),
        }


def _engine() -> "type[Engine]":
    # Not by import_module: a reload imports this package under another name.
    from trio_kafka_http.serving import Engine  # noqa: PLC0415 - see `_load`

    return Engine
