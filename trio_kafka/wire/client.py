"""Client side of a connection: frames of requests, and their answers in order.

Does no I/O: `ask` returns bytes to send, `received` takes received bytes, `next` returns answers.
So it works with a task, a blocking socket or a test. A caller that receives large answers into its
own buffer uses `size_of` and `answer_in`, which copy nothing. `common_version` chooses a version
from the answer to ApiVersions. Source: Kafka's request headers 1 and 2, response headers 0 and 1
(KIP-482); KIP-511 for an answer to ApiVersions in version 0.
"""

import struct
from collections import deque
from collections.abc import Iterable
from typing import Any, Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersion, ApiVersionsResponse
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import message_of

LARGEST: Final = 100 << 20
_SIZE: Final = struct.Struct(">i")
_HEAD: Final = 4  # bytes of the smallest answer, a correlation id
_LAST_ID: Final = 0x7FFFFFFF
_UNSUPPORTED: Final = struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)


@frozen
class _Asked:
    """A request in flight."""

    correlation: int
    response: type[Any]
    version: int


class ClientSide:
    """Client side of one connection. After a ProtocolError it must not be used.

    client_id: sent with each request. largest: bytes of the largest answer that is accepted.
    """

    __slots__ = ("_asked", "_client_id", "_correlation", "_largest", "_received")

    def __init__(self, client_id: str | None = None, largest: int = LARGEST) -> None:
        self._client_id = client_id
        self._largest = largest
        self._asked: deque[_Asked] = deque()
        self._received = bytearray()
        self._correlation = 0

    @property
    def waiting(self) -> int:
        """Number of requests in flight."""
        return len(self._asked)

    def ask(self, request: object, version: int, *, answered: bool = True) -> bytes:
        """Return the frame of a request, with its size.

        answered: False for a request without an answer (Produce with acks=0).
        Raises TypeError if it is no request, EncodeError for a value that the version lacks.
        """
        message = message_of(type(request))
        if message.key is None or message.response is None:
            raise TypeError(f"{message.name} is no request with a response")
        self._correlation = self._correlation + 1 if self._correlation < _LAST_ID else 0
        header = RequestHeader(message.key, version, self._correlation, self._client_id)
        head = to_bytes(header, request_header_version(message, version))
        body = to_bytes(request, version)
        if answered:
            self._asked.append(_Asked(self._correlation, message.response, version))
        return b"".join([_SIZE.pack(len(head) + len(body)), head, body])

    def received(self, data: bytes | bytearray | memoryview) -> None:
        """Take received bytes, of any number of frames or parts of them."""
        self._received += data

    def next(self) -> Any | None:
        """Return the answer to the oldest request in flight; None: it is not complete.

        Its records are views of immutable bytes. Raises ProtocolError.
        """
        frame = self._next_frame()
        return None if frame is None else self.answer_in(frame)

    def size_of(self, head: Buffer) -> int:
        """Return the size of the answer that follows `head`, four bytes. Raises ProtocolError."""
        (size,) = _SIZE.unpack_from(head)
        if not _HEAD <= size <= self._largest:
            raise ProtocolError(f"answer of {size} bytes: want {_HEAD} to {self._largest}")
        return int(size)

    def answer_in(self, frame: Buffer) -> Any:
        """Return the answer to the oldest request in flight, from a frame without its size.

        Its records are views of `frame`, which must not change afterwards. Raises ProtocolError.
        """
        (correlation,) = _SIZE.unpack_from(frame)
        if not self._asked:
            raise ProtocolError(f"answer {correlation}: want none, as no request is in flight")
        asked = self._asked.popleft()
        if correlation != asked.correlation:
            raise ProtocolError(f"answer {correlation}: want {asked.correlation}")
        return _decode(asked, frame)

    def end(self) -> None:
        """Note the end of the stream. Raises ProtocolError if an answer is missing."""
        if self._asked or self._received:
            raise ProtocolError(
                f"stream ended after {len(self._received)} bytes of an answer: want answers to"
                f" {len(self._asked)} requests"
            )

    def _next_frame(self) -> bytes | None:
        """Return the next frame without its size; None: it is not complete."""
        received = self._received
        if len(received) < _SIZE.size:
            return None
        end = _SIZE.size + self.size_of(received)
        if len(received) < end:
            return None
        frame = bytes(memoryview(received)[_SIZE.size : end])
        del received[:end]
        return frame


def _decode(asked: _Asked, frame: Buffer) -> Any:
    """Return the message of a frame. Raises ProtocolError."""
    version = asked.version
    header = response_header_version(message_of(asked.response), version)
    _, position = decoder(ResponseHeader, header)(frame, 0)
    if asked.response is ApiVersionsResponse and frame[4:6] == _UNSUPPORTED:
        version = 0  # the server lacks our version, and says so in version 0 (KIP-511)
    answer, end = decoder(asked.response, version)(frame, position)
    if end != len(frame):
        raise ProtocolError(f"{asked.response.__name__} of {len(frame)} bytes: want {end}")
    return answer


def common_version(request: type[Any], served: Iterable[ApiVersion]) -> int | None:
    """Return the highest stable version of a request that both sides know; None: there is none.

    served: `api_keys` of an ApiVersionsResponse.
    """
    message = message_of(request)
    first, last = message.versions
    if message.unstable[0] <= message.unstable[1]:
        last = min(last, message.unstable[0] - 1)
    for one in served:
        if one.api_key == message.key:
            version = min(last, one.max_version)
            return version if version >= max(first, one.min_version) else None
    return None
