"""Exchange: one request from within, with its response and a connection without a socket.

A handler task serves it, not the task that asks: a broken invariant must end in the handler group.
"""

from collections.abc import Callable
from typing import Any, Final, Protocol, TypeVar, cast

import trio

from trio_kafka.introspect.stamps import Stamps
from trio_kafka.model import Endpoint
from trio_kafka.network.channel import RequestChannel
from trio_kafka.network.connection import Connection
from trio_kafka.network.outgoing import release
from trio_kafka.network.reasons import CloseReason, MuteReason
from trio_kafka.network.request import IN_QUEUE, ConnectionOwner, Request
from trio_kafka.network.settings import ListenerSettings
from trio_kafka.protocol.compiler import decoder_in_steps
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.schema import message_of
from trio_kafka.records.file_range import FileRange
from trio_kafka.requests.chunked_codec import merged_steps
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.security.principal import Principal
from trio_kafka.wire.client import HEAD as HEAD_BYTES
from trio_kafka.wire.client import request_frame
from trio_kafka.wire.frame import Framer
from trio_kafka.wire.server import HEAD, Segments
from trio_kafka.wire.streamed import BodyChangedError, StreamedBody
from trio_kafka.world.protocols import RangeCutError, Socket

T = TypeVar("T")
IN_PROCESS: Final = Endpoint("in-process", 0)
LISTENER: Final = ListenerSettings(name="in-process", security_protocol="INTERNAL")
_CORRELATION: Final = 1  # each connection has one request


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
        encoded = request_frame(request, version, correlation=_CORRELATION, client_id=client_id)
        frame = memoryview(bytearray(encoded))[HEAD_BYTES:]
        connection = Connection(
            cast("Socket", _NoSocket(self._peer)),
            cast("ConnectionOwner[Connection]", self),
            cast("Framer", _NoFramer()),
        )
        connection.principal = self._principal
        now = self._handlers.elapsed()
        code, correlation, length = HEAD(frame, 0)
        stamps = Stamps(
            received=now,
            begun=now,
            code=code,
            correlation=correlation,
            request_bytes=len(frame),
            origin=connection.origin,
        )
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
        pieces: list[Any] = []
        for segment in self._segments:
            if isinstance(segment, FileRange):
                try:
                    pieces.append(await segment.lease.read(segment.position, segment.remaining))
                except RangeCutError as error:
                    raise RefusedError(CloseReason.TRUNCATED, str(error)) from None
            elif isinstance(segment, StreamedBody):
                try:
                    pieces += await self._handlers.run_steps(_pieces_of(segment))
                except BodyChangedError as error:
                    raise RefusedError(CloseReason.TRUNCATED, str(error)) from None
            else:
                pieces.append(segment)
        return b"".join(pieces)

    async def decode(self, data: bytes, response: type[object], version: int) -> object:
        """Decode a response, in slices."""
        position = 2 * HEAD_BYTES + response_header_version(message_of(response), version)
        decode = decoder_in_steps(response, version)
        steps = merged_steps(decode(memoryview(data), position))
        response_message, _ = await self._handlers.run_steps(steps)
        return response_message

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

    kept = 0

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
