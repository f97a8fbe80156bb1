"""Requests from within the broker: a plugin asks through the routes of the data plane.

Listener names of clients are upper case, so no client can have the listener `in-process`.
Interceptors, quotas, metrics and the request log see these requests like those of clients. Each
request has a connection of its own, without a socket, on the listener `in-process`. A handler task
serves it, not the task that asks: a broken invariant must end in the handler group.

A response is returned when the throttle time of its client is over. The broker reads nothing else
from this connection, so muting it would not slow the client (before KIP-219, brokers delayed
responses in the same way).
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.request_metrics import RequestMetrics
from trio_kafka.introspect.stamps import Stamps
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection, ConnectionOwner
from trio_kafka.network.outgoing import release
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.request import IN_QUEUE, Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.protocol.compiler import decoder_in_steps
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.schema import Message, message_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.chunked_codec import merged_steps
from trio_kafka.requests.registry import Registry
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.principal import NOBODY, Principal
from trio_kafka.wire.frame import Framer
from trio_kafka.wire.server import HEAD, Segments
from trio_kafka.wire.streamed import BodyChangedError, StreamedBody
from trio_kafka.world.protocols import RangeCutError, Socket

T = TypeVar("T")
IN_PROCESS: Final = Endpoint("in-process", 0)
LISTENER: Final = ListenerSettings(name="in-process", security_protocol="INTERNAL")
_SIZE_BYTES: Final = 4  # of the size before a frame


class RefusedError(Exception):
    """Request without a response: a client's connection would have been closed, for `reason`."""

    def __init__(self, reason: str, detail: str) -> None:
        super().__init__(f"{reason}: {detail}" if detail else reason)
        self.reason = reason
        self.detail = detail


class RequestHandlers(Protocol):
    """Handler group that serves the requests."""

    elapsed: Callable[[], float]

    async def run_steps(self, steps: Steps[T]) -> T:
        """Run steps in slices and return their result."""


def _pieces_of(body: StreamedBody) -> Steps[list[bytes]]:
    pieces: list[bytes] = []
    for piece in body:
        pieces.append(piece)
        yield
    return pieces


class Exchange:
    """One request and its response; the owner of the request's connection.

    It does not keep the connection: a reference cycle would hold the response until a garbage
    collection.
    """

    name: Final = LISTENER.name
    listener: Final = LISTENER

    def __init__(self, handlers: RequestHandlers, peer: Endpoint, principal: Principal) -> None:
        self._handlers = handlers
        self._peer = peer
        self._principal = principal
        self._segments: Segments | None = None
        self._refused: tuple[str, str] | None = None  # reason and detail
        self._answered = trio.Event()
        self.unthrottled = trio.Event()
        self.is_throttled = False
        self.unthrottled.set()

    def receive(self, request: object, version: int, client_id: str) -> tuple[Request, Connection]:
        """Encode a request, and return it as received on a connection of its own."""
        # It imports a message, which a start need not.
        from trio_kafka.wire.client import ClientSide  # noqa: PLC0415 - see above

        encoded = ClientSide(client_id).ask(request, version, answered=False)
        frame = memoryview(bytearray(encoded))[_SIZE_BYTES:]
        connection = Connection(
            cast("Socket", _NoSocket(self._peer)),
            cast("ConnectionOwner", self),
            cast("Framer", _NoFramer()),
        )
        connection.principal = self._principal
        now = self._handlers.elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(now, now, code, correlation, len(frame), connection.origin)
        connection.requests = 1
        return Request(frame, code, correlation, length, connection, stamps), connection

    async def enqueue(
        self, request: Request, connection: Connection, channel: RequestChannel
    ) -> None:
        """Put a request into the request channel; waits in turn while that is full."""
        connection.request, request.waits_for = request, IN_QUEUE
        while True:
            try:
                channel.offer(request)
            except trio.WouldBlock:
                room = trio.Event()
                place = channel.call_when_room(room.set)
                try:
                    await room.wait()
                except BaseException:
                    place.close()
                    raise
            else:
                return

    async def wait_response(self) -> bytes | None:
        """Wait for the response; return its bytes, with file ranges read, or None without one.

        Raises RefusedError.
        """
        await self._answered.wait()
        if self._refused is not None:
            raise RefusedError(*self._refused)
        if self._segments is None:
            return None
        found: list[Any] = []
        for segment in self._segments:
            if isinstance(segment, FileRange):
                try:
                    found.append(await segment.lease.read(segment.position, segment.left))
                except RangeCutError as error:
                    raise RefusedError(CloseReason.TRUNCATED, str(error)) from None
            elif isinstance(segment, StreamedBody):
                try:
                    found += await self._handlers.run_steps(_pieces_of(segment))
                except BodyChangedError as error:
                    raise RefusedError(CloseReason.TRUNCATED, str(error)) from None
            else:
                found.append(segment)
        return b"".join(found)

    async def decode(self, data: bytes, response: type[Any], version: int) -> Any:
        """Decode a response, in slices."""
        position = 2 * _SIZE_BYTES + response_header_version(message_of(response), version)
        decode = decoder_in_steps(response, version)
        steps = merged_steps(decode(memoryview(data), position))
        found, _ = await self._handlers.run_steps(steps)
        return found

    def close(self, connection: Connection) -> None:
        """Disconnect: release the response, or have it discarded when it comes."""
        if not self._answered.is_set():
            connection.left = connection.closed = True
            if connection.parked is not None:
                connection.parked()
        if self._segments is not None:
            release(self._segments)

    # --- the owner of the connection

    def answer(self, connection: Connection, request: Request, segments: Segments | None) -> None:
        """Take the response."""
        self._stamp(request)
        if connection.closed:
            release(segments or ())
            return
        self._segments = segments
        self._answered.set()

    def refuse(
        self, connection: Connection, request: Request, reason: CloseReason, detail: str
    ) -> None:
        """Note that there is no response."""
        del connection
        self._stamp(request)
        self._refused = reason, detail
        self._answered.set()

    def mute(self, connection: Connection, reason: MuteReason) -> None:
        """Keep the response back while the connection is throttled."""
        del connection, reason
        self.is_throttled = True
        self.unthrottled = trio.Event()

    def unmute(self, connection: Connection, reason: MuteReason) -> None:
        """Let the response go."""
        del connection, reason
        self.unthrottled.set()

    def _stamp(self, request: Request) -> None:
        stamps = request.stamps
        stamps.answered = stamps.sending = self._handlers.elapsed()
        stamps.handled = stamps.handled or stamps.answered


class _NoSocket:
    """Addresses of a connection without a socket."""

    def __init__(self, peer: Endpoint) -> None:
        self.key = -1
        self.peer = peer
        self.local = IN_PROCESS


class _NoFramer:
    """Framer without a buffer: the frame belongs to its request."""

    held = 0
    pending = False
    buffer = None

    def done(self) -> None:
        """Release the frame; there is nothing to release."""

    def drop(self) -> None:
        """Release the buffer; there is none."""


class InProcessClient:
    """Client of one broker within its process.

    metrics: returns the request metrics that count these requests, or None.
    connections: connections in flight by number, each with one request.
    """

    def __init__(self, apis: Registry, metrics: Callable[[], RequestMetrics | None]) -> None:
        self.connections: dict[int, Connection] = {}
        self._apis = apis
        self._metrics = metrics
        self._asked = self._throttled = self._high_water = 0
        self._handlers: RequestHandlers | None = None
        self._channel: RequestChannel

    def serve(self, handlers: RequestHandlers, channel: RequestChannel, node: Node) -> None:
        """Have a handler group serve the requests, unless another one does."""
        if self._handlers is None:
            self._handlers, self._channel = handlers, channel
            node.add("in-process", "part", self._figures)

    async def ask(
        self,
        request: object,
        *,
        principal: Principal = NOBODY,
        client_id: str = "",
        peer: Endpoint = IN_PROCESS,
        version: int | None = None,
    ) -> Any:
        """Return the response to a request; None if it has none (acks=0).

        principal, client_id: client that is authorized, charged and logged.
        peer: address of the client for which the request is made, if there is one.
        version: version of the API; None: the newest that is served.
        Raises KafkaError(UNSUPPORTED_VERSION) for an API or version that is not served,
        RefusedError if a client would lose its connection, and TypeError or EncodeError for an
        object that is no request of the version. Cancellation acts like a disconnect.
        """
        handlers = self._handlers
        if handlers is None:
            raise RuntimeError("no handler group serves requests: start the data plane first")
        message = message_of(type(request))
        if message.response is None:
            raise TypeError(f"{message.name} is no request with a response")
        version = self._version_of(message, version)
        exchange = Exchange(handlers, peer, principal)
        made, connection = exchange.receive(request, version, client_id)
        number = self._asked = self._asked + 1
        self.connections[number] = connection
        self._high_water = max(self._high_water, len(self.connections))
        try:
            await exchange.enqueue(made, connection, self._channel)
            data = await exchange.wait_response()
        finally:
            exchange.close(connection)
            del self.connections[number]
        self._count(made, handlers.elapsed())
        self._throttled += exchange.is_throttled
        response = None
        if data is not None:
            response = await exchange.decode(data, message.response, version)
        await exchange.unthrottled.wait()
        return response

    def _version_of(self, message: Message, version: int | None) -> int:
        """Return the version to ask in. Raises KafkaError(UNSUPPORTED_VERSION)."""
        api = None if message.key is None else self._apis.get(message.key)
        if api is None:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"{message.name} is not served")
        if version is None:
            return api.last
        if not api.first <= version <= api.last:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{message.name} version {version}: {api.first} to {api.last} are served",
            )
        return version

    def _count(self, request: Request, sent: float) -> None:
        """Count a request in the request metrics and the request log."""
        stamps, metrics = request.stamps, self._metrics()
        stamps.client_id = request.client_id
        if metrics is not None:
            metrics.of(request.key).add(stamps, sent)
            if metrics.log is not None:
                metrics.log(stamps)

    def _figures(self) -> Figures:
        return {
            "in_flight": len(self.connections),
            "high_water": self._high_water,
            "asked": self._asked,
            "throttled": self._throttled,
        }
