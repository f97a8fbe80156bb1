"""Link to another node over a connection of the world's network.

Theory of operation. A link connects when it is first asked, and again whenever its connection has
ended. One request is in flight at a time, as in Kafka's own clients between brokers; asks take
turns in the order in which they came. An ask that ends without its response, by its deadline, by
cancellation or by an error, closes the connection: the response would be taken for that of the
next request, and the close tells the peer to drop what it holds for this one. A connection that
the peer has closed while nothing was in flight is replaced before the next request is sent, so a
restart of the peer is not seen by later asks. An ask makes one attempt to connect. After a failure
the next ask first waits for the end of the back-off, so a caller that only repeats does not spin.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final, Protocol, TypeVar, cast

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ProtocolError
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import Endpoint
from trio_kafka.peers.backoff import Reconnection
from trio_kafka.peers.errors import DeadlineError, PeerError
from trio_kafka.peers.session import Request, Session
from trio_kafka.protocol.schema import message_of
from trio_kafka.world.protocols import Buffer, Socket
from trio_kafka.world.world import World

A = TypeVar("A")
_CONNECT_S: Final = 10.0  # socket.connection.setup.timeout.ms
_BROKEN: Final = (OSError, trio.ClosedResourceError)  # the second: closed by its own side


class Link(Protocol):
    """Requests to one node, one at a time, in the order of the calls.

    Implemented by `StreamLink` and, for this node, by `requests.loopback.LoopbackLink`.
    """

    async def ask(self, request: Request[A], *, deadline: float, at_most: int | None = None) -> A:
        """Send a request and return its response.

        deadline: time of Trio's clock. at_most: highest version that the caller has the data for.
        Raises PeerError, DeadlineError, ProtocolError, KafkaError(UNSUPPORTED_VERSION); EncodeError
        for a value that the version lacks. An error code in the response is not raised.
        """


@frozen(eq=False)
class Connection:
    """A connection whose session is open, or is being opened."""

    endpoint: Endpoint
    socket: Socket
    session: Session
    run_in_thread: Callable[[Callable[[], object]], Awaitable[object]]

    async def open(self) -> None:
        """Agree on versions and shake hands."""
        await send_all(self.socket, self.session.begin())
        while not self.session.is_open:
            await self._receive()

    async def exchange(self, data: bytes, *, is_answered: bool) -> object | None:
        """Send the bytes of a request, and return its response if it has one."""
        await send_all(self.socket, data)
        response = None
        while is_answered and response is None:
            response = await self._receive()
        return response

    def is_usable(self, now: float) -> bool:
        """Return whether the session is valid, and its peer has neither left nor sent a byte."""
        if now >= self.session.expires:
            return False
        try:
            self.socket.receive_into(self.session.room())
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False  # the end of the stream, or a response that was not asked for

    async def _receive(self) -> object | None:
        """Receive once, and send what the session answers."""
        try:
            count = self.socket.receive_into(self.session.room())
        except BlockingIOError:
            await self.socket.wait_readable()
            return None
        progress = self.session.received(count, trio.current_time())
        while progress.work is not None:
            result = await self.run_in_thread(progress.work.call)
            progress = self.session.worked(result, trio.current_time())
        if progress.to_send:
            await send_all(self.socket, progress.to_send)
        return progress.response


@define(eq=False, kw_only=True)
class StreamLink:
    """Link over connections of `world`, opened on demand. See `Link` and the theory of operation.

    name: of the node, in errors and in the tree.
    address: returns the node's present address, or raises the error of the ask. Another address
        than before closes the connection.
    session: returns a new session, with its handshake, for each connection.
    open_socket: opens a socket, with TLS where the listener has it; None: the world's network.
    connect_s: time for a connection with its handshake.
    """

    name: str
    world: World
    address: Callable[[], Endpoint]
    session: Callable[[], Session]
    open_socket: Callable[[Endpoint], Awaitable[Socket]] | None = None
    reconnection: Reconnection = field(factory=Reconnection)
    connect_s: float = _CONNECT_S
    _connection: Connection | None = field(default=None, init=False)
    _turn: trio.Lock = field(factory=trio.Lock, init=False)
    _requests_sent: int = field(default=0, init=False)
    _connected: int = field(default=0, init=False)

    async def ask(self, request: Request[A], *, deadline: float, at_most: int | None = None) -> A:
        """See `Link`. Raises also what `address` and the handshake raise."""
        return cast("A", await self._ask(request, deadline, at_most, is_answered=True))

    async def tell(self, request: object, *, deadline: float, at_most: int | None = None) -> None:
        """Send a request that has no response (Produce with acks=0). Raises as `ask` does."""
        await self._ask(request, deadline, at_most, is_answered=False)

    def close(self) -> None:
        """Close the connection; an ask that uses it fails, the next one opens another. Idempotent.

        If a request is in flight, by a reset: what is under way is of no use.
        """
        connection, self._connection = self._connection, None
        if connection is None:
            return
        if connection.session.in_flight:
            connection.socket.abort()
        else:
            connection.socket.close()

    @property
    def is_connected(self) -> bool:
        """True while the link has a connection; its peer may have closed it."""
        return self._connection is not None

    def figures(self) -> Figures:
        """Return the figures of this link for the tree."""
        waiting = self._turn.statistics()
        return {
            "connected": self.is_connected,
            "asked": self._requests_sent,
            "connections": self._connected,
            "in_flight": int(waiting.locked),
            "waiting": waiting.tasks_waiting,
            "failures": self.reconnection.failures,
        }

    async def _ask(
        self, request: object, deadline: float, at_most: int | None, *, is_answered: bool
    ) -> object | None:
        name = message_of(type(request)).name.removesuffix("Request")
        sent = False
        try:
            with trio.fail_at(deadline):
                async with self._turn:
                    connection = await self._usable()
                    data = connection.session.send(
                        request, deadline=deadline, at_most=at_most, is_answered=is_answered
                    )
                    sent = True
                    self._requests_sent += 1
                    with self._closed_by_errors(connection, name):
                        return await connection.exchange(data, is_answered=is_answered)
        except trio.TooSlowError:
            reason = "no answer" if sent else "could not be sent"
            raise DeadlineError(f"{self.name}: {name}: {reason} in time", sent=sent) from None

    @contextmanager
    def _closed_by_errors(self, connection: Connection, name: str) -> Iterator[None]:
        """Close the connection unless the block ends without an exception."""
        try:
            yield
        except _BROKEN as error:
            self.close()
            raise PeerError(self._reason(connection.endpoint, name, error), sent=True) from error
        except ProtocolError as error:
            self.close()
            raise ProtocolError(self._reason(connection.endpoint, name, error)) from error
        except BaseException:
            self.close()
            raise

    async def _usable(self) -> Connection:
        """Return an open connection on which nothing is in flight, and no throttle is left."""
        connection = self._connection
        if connection is not None:
            if connection.session.not_before > trio.current_time():
                await trio.sleep_until(connection.session.not_before)
            if connection.endpoint == self.address() and connection.is_usable(trio.current_time()):
                return connection
            self.close()
        await trio.sleep_until(self.reconnection.not_before)
        endpoint = self.address()
        try:
            with trio.fail_after(self.connect_s):
                connection = await self._connect(endpoint)
        except trio.TooSlowError:
            self._note_failure()
            reason = f"connecting takes more than {self.connect_s:g} s"
            raise PeerError(f"{self.name} at {endpoint}: {reason}", sent=False) from None
        except OSError as error:
            self._note_failure()
            raise PeerError(self._reason(endpoint, "connecting", error), sent=False) from error
        except ProtocolError as error:
            self._note_failure()
            raise ProtocolError(self._reason(endpoint, "connecting", error)) from error
        except Exception:  # of the handshake: the peer rejects our credentials
            self._note_failure()
            raise
        self.reconnection.succeeded()
        self._connected += 1
        self._connection = connection
        return connection

    async def _connect(self, endpoint: Endpoint) -> Connection:
        if self.open_socket is None:
            socket = await self.world.network.connect(endpoint.host, endpoint.port)
        else:
            socket = await self.open_socket(endpoint)
        connection = Connection(endpoint, socket, self.session(), self.world.run_in_thread)
        try:
            await connection.open()
        except BaseException:
            socket.abort()
            raise
        return connection

    def _note_failure(self) -> None:
        self.reconnection.failed(trio.current_time(), self.world.random.random())

    def _reason(self, endpoint: Endpoint, doing: str, error: Exception) -> str:
        return f"{self.name} at {endpoint}: {doing}: {str(error) or type(error).__name__}"


async def send_all(socket: Socket, data: Buffer) -> None:
    """Send all bytes. Waits only if the socket takes no more."""
    view = memoryview(data)
    while view:
        try:
            view = view[socket.send(view) :]
        except BlockingIOError:
            await socket.wait_writable()
