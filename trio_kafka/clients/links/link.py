"""Link to one broker: its connection, opened on demand and again after each failure.

A failed connection ends the calls that wait for it, none of which was sent; the next one begins
after the back-off. Nothing is retried here: only the caller knows what may be repeated.
"""

from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeVar, cast

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import ClientError, Place, TimedOutError
from trio_kafka.clients.links.calls import Call, call_error
from trio_kafka.clients.links.connection import Connection
from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.clients.settings.common import ClientSettings
from trio_kafka.errors import KafkaError, ProtocolError
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Backoff, Reconnection
from trio_kafka.peers.session import Handshake, Profile, Request, Session
from trio_kafka.protocol.schema import message_of
from trio_kafka.world.protocols import Socket
from trio_kafka.world.world import World

if TYPE_CHECKING:
    from trio_kafka.clients.links.login import ClientLogin
    from trio_kafka.security.tls.handshake import TlsOpener

A = TypeVar("A")
_FAILURES: Final = (OSError, ProtocolError, KafkaError, trio.ClosedResourceError)


@define(eq=False, kw_only=True)
class BrokerLink:
    """Requests to one broker. `run` is its task.

    node: id; a bootstrap address has a negative one. address: returns the present one, or None.
    limit: of the requests in flight. changed: called when requests may be sent that could not be
    before, and after a failed connection. tls, login: for the connections; None: without.
    """

    node: int
    world: World
    settings: ClientSettings
    address: Callable[[], Endpoint | None]
    metrics: NetworkMetrics
    limit: int
    changed: Callable[[], None]
    tls: "TlsOpener | None" = None
    login: "ClientLogin | None" = None
    reconnection: Reconnection = field(init=False)
    _queue: deque[Call] = field(factory=deque, init=False)
    _connection: Connection | None = field(default=None, init=False)
    _connection_needed: trio.Event = field(factory=trio.Event, init=False)
    _retired: trio.CancelScope = field(factory=trio.CancelScope, init=False)
    _departure: OSError | None = field(default=None, init=False)
    _connected: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        self.reconnection = Reconnection(self.settings.reconnect_backoff)

    @property
    def place(self) -> Place:
        return Place(broker=f"broker {self.node} ({self.address() or 'without address'})")

    @property
    def is_connected(self) -> bool:
        return self._connection is not None and self._connection.is_open

    @property
    def has_room(self) -> bool:
        """True if a request would be sent at once."""
        connection = self._connection
        return connection is not None and not self._queue and connection.has_room

    @property
    def in_flight(self) -> int:
        """Number of requests that are queued, or in flight."""
        connection = self._connection
        return len(self._queue) + (0 if connection is None else connection.in_flight)

    def connect_soon(self) -> None:
        """Open a connection if there is none."""
        self._connection_needed.set()

    def submit(self, call: Call) -> None:
        """Send a request as soon as possible. Its `done` is always called, once."""
        self._queue.append(call)
        self._connection_needed.set()
        self._send_queued()

    async def ask(self, request: Request[A], *, timeout_s: float, at_most: int | None = None) -> A:
        """Send a request and return its response.

        timeout_s: also for the wait before it can be sent. at_most: see `Session.send`.
        Raises ClientError. After a cancellation the response is discarded; the connection stays.
        """
        name = message_of(type(request)).name.removesuffix("Request")
        results: list[object] = []
        ended = trio.Event()

        def done(result: object) -> None:
            results.append(result)
            ended.set()

        call = Call(request=request, done=done, timeout_s=timeout_s, at_most=at_most)
        self.submit(call)
        try:
            with trio.move_on_after(timeout_s):
                await ended.wait()
        finally:
            if call in self._queue:
                self._queue.remove(call)
        if not results:
            raise TimedOutError(f"{name}: no response in time", place=self.place, sent=call.sent)
        result = results[0]
        if isinstance(result, ClientError):
            raise result
        return cast("A", result)

    def retire(self) -> None:
        """End `run` and all calls: the broker has left the cluster. They may be repeated."""
        self._departure = ConnectionAbortedError("the broker has left the cluster")
        if self._connection is not None:
            self._connection.fail(self._departure)
        self._retired.cancel()

    async def run(self) -> None:
        """Open connections on demand, until cancelled or retired. Ends all calls."""
        try:
            with self._retired:
                while True:
                    await self._connection_needed.wait()
                    await trio.sleep_until(self.reconnection.not_before)
                    await self._serve()
        finally:
            self._fail_queue(self._departure)

    def figures(self) -> Figures:
        """Return the figures of this link for the tree."""
        return {
            "connected": self.is_connected,
            "connections": self._connected,
            "in_flight": self.in_flight,
            "waiting": len(self._queue),
            "failures": self.reconnection.failures,
        }

    async def _serve(self) -> None:
        """Connect, and carry requests until the connection ends."""
        failures = self.reconnection.failures
        setup = Backoff(
            self.settings.socket_connection_setup_timeout_ms / 1000,
            self.settings.socket_connection_setup_timeout_max_ms / 1000,
        )
        try:
            handshake = await self._handshake()
            with trio.fail_after(setup.pause_s(failures + 1, self.world.random.random())):
                connection = await self._connect(handshake)
        except (*_FAILURES, trio.TooSlowError) as error:
            now = trio.current_time()
            self.reconnection.failed(now, self.world.random.random())
            self._connection_needed = trio.Event()
            cause = TimeoutError("no connection in time") if _is_slow(error) else error
            self._fail_queue(cause)
            self.changed()
            return
        self.reconnection.succeeded()
        self._connected += 1
        self.metrics.connections.value += 1
        self._connection = connection
        try:
            self._send_queued()
            self.changed()
            await connection.run()
        finally:
            self._connection = None
            self._connection_needed = trio.Event()
            if self._queue:
                self._connection_needed.set()
        self.changed()

    async def _connect(self, handshake: Handshake | None) -> Connection:
        endpoint = self.address()
        if endpoint is None:
            await trio.lowlevel.checkpoint()
            raise OSError("the broker is not part of the cluster")
        sending, receiving = self.settings.send_buffer_bytes, self.settings.receive_buffer_bytes
        socket: Socket = await self.world.network.connect(
            endpoint.host,
            endpoint.port,
            send_buffer=None if sending < 0 else sending,
            receive_buffer=None if receiving < 0 else receiving,
        )
        if self.tls is not None:
            socket = await self.tls.open(endpoint, socket)
        connection = Connection(
            socket=socket,
            session=Session(Profile(client_id=self.settings.client_id), handshake),
            run_in_thread=self.world.run_in_thread,
            place=self.place,
            metrics=self.metrics,
            node=self.node,
            limit=self.limit,
            idle_s=self._idle_s,
            changed=self._note_change,
        )
        try:
            await connection.open()
        except BaseException:
            socket.abort()
            raise
        return connection

    async def _handshake(self) -> Handshake | None:
        """Return the handshake of a new connection, which may need a new token."""
        if self.login is None:
            return None
        # Imported here: most programs use no SASL.
        from trio_kafka.peers.sasl import log_in  # noqa: PLC0415 - see above

        return log_in(await self.login.credentials(), self.world.random_bytes)

    @property
    def _idle_s(self) -> float:
        idle_ms = self.settings.connections_max_idle_ms
        return float("inf") if idle_ms < 0 else idle_ms / 1000

    def _note_change(self) -> None:
        self._send_queued()
        self.changed()

    def _send_queued(self) -> None:
        connection = self._connection
        while self._queue and connection is not None and connection.has_room:
            connection.send(self._queue.popleft())

    def _fail_queue(self, cause: BaseException | None) -> None:
        """End the calls that were not sent. cause: None: the link is closed."""
        calls = list(self._queue)
        self._queue.clear()
        for call in calls:
            call.done(call_error(cause, self.place, call.name, sent=False))


def _is_slow(error: BaseException) -> bool:
    return isinstance(error, trio.TooSlowError)
