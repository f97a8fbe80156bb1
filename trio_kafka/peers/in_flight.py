"""Requests of one connection that wait for their responses, which come in the same order.

Does no I/O. `add` returns bytes to send. `room` says where to receive the next bytes, and
`received` returns a response when its last byte is there. A response is received into a buffer of
its own size, of which its records are views, so nothing is copied. The room never reaches beyond
one response, so what follows it stays in the socket.
"""

from collections import deque
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ProtocolError
from trio_kafka.peers.errors import StreamEndedError
from trio_kafka.protocol.schema import message_of
from trio_kafka.wire.client import (
    HEAD,
    LARGEST,
    correlation_of,
    decode_response,
    request_frame,
    response_class,
    response_size,
)

_LAST_CORRELATION: Final = 0x7FFFFFFF


@frozen(kw_only=True)
class InFlightRequest:
    """A request that was sent. deadline: time until which its response is awaited."""

    name: str
    correlation: int
    version: int
    response: type[object]
    deadline: float


class InFlightRequests:
    """Requests in flight of one connection. After a ProtocolError it must not be used.

    client_id: sent with each request. largest: bytes of the largest response that is accepted.
    """

    __slots__ = ("_correlation", "_frame", "_head", "_largest", "_requests", "_room", "client_id")

    def __init__(self, client_id: str | None = None, largest: int = LARGEST) -> None:
        self.client_id = client_id
        self._largest = largest
        self._requests: deque[InFlightRequest] = deque()
        self._correlation = 0
        self._frame: bytearray | None = None  # None: the size has not been received
        self._head = bytearray(HEAD)
        self._room = memoryview(self._head)

    def __len__(self) -> int:
        return len(self._requests)

    @property
    def deadline(self) -> float:
        """Earliest deadline: responses come in order, so each request waits for all before it."""
        return min((request.deadline for request in self._requests), default=float("inf"))

    @property
    def oldest(self) -> InFlightRequest | None:
        """The request whose response comes next."""
        return self._requests[0] if self._requests else None

    def add(
        self,
        request: object,
        version: int,
        *,
        deadline: float = float("inf"),
        is_answered: bool = True,
    ) -> bytes:
        """Return the frame of a request, with its size. All of it must be sent.

        is_answered: False for a request without a response (Produce with acks=0).
        Raises TypeError if it is no request, EncodeError for a value that the version lacks.
        """
        response = response_class(request)
        correlation = self._correlation + 1 if self._correlation < _LAST_CORRELATION else 0
        frame = request_frame(request, version, correlation=correlation, client_id=self.client_id)
        self._correlation = correlation
        if is_answered:
            self._requests.append(
                InFlightRequest(
                    name=message_of(type(request)).name.removesuffix("Request"),
                    correlation=correlation,
                    version=version,
                    response=response,
                    deadline=deadline,
                )
            )
        return frame

    def room(self) -> memoryview:
        """Return where to receive the next bytes; never empty."""
        return self._room

    def received(self, count: int) -> object | None:
        """Take the `count` bytes that were received into `room()`; 0: the stream has ended.

        Returns the response to the oldest request; None: it is not complete. Its records are views
        of immutable bytes. Raises ProtocolError, StreamEndedError.
        """
        if not count:
            raise StreamEndedError(len(self._room))
        self._room = self._room[count:]
        if self._room:
            return None
        if self._frame is None:
            self._frame = bytearray(response_size(self._head, self._largest))
            self._room = memoryview(self._frame)
            return None
        frame = memoryview(self._frame).toreadonly()
        self._frame = None
        self._room = memoryview(self._head)
        return self._decode(frame)

    def _decode(self, frame: memoryview) -> object:
        correlation = correlation_of(frame)
        if not self._requests:
            raise ProtocolError(f"answer {correlation}: want none, as no request is in flight")
        request = self._requests.popleft()
        if correlation != request.correlation:
            raise ProtocolError(f"answer {correlation}: want {request.correlation}")
        return decode_response(request.response, request.version, frame)
