"""Client side of the wire: frames of requests, and responses in frames. Keeps no state.

Source: Kafka's request headers 1 and 2, response headers 0 and 1 (KIP-482); KIP-511 for an answer
to ApiVersions in version 0.
"""

import struct
from typing import Final, TypeVar

from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import (
    RequestHeader,
    ResponseHeader,
    request_header_version,
    response_header_version,
)
from trio_kafka.protocol.primitives import Buffer
from trio_kafka.protocol.schema import Message, message_of
from trio_kafka.protocol.versions import Range

A = TypeVar("A")
LARGEST: Final = 100 << 20
HEAD: Final = 4  # bytes of the size before a frame
_SIZE: Final = struct.Struct(">i")
_LEAST: Final = 4  # bytes of the smallest response: a correlation id
_API_VERSIONS: Final = 18
_UNSUPPORTED: Final = struct.pack(">h", ErrorCode.UNSUPPORTED_VERSION)


def request_frame(
    request: object, version: int, *, correlation: int = 0, client_id: str | None = None
) -> bytes:
    """Return the frame of a request, with its size.

    Raises TypeError if it is no request, EncodeError for a value that the version lacks.
    """
    message = message_of(type(request))
    if message.key is None or message.kind != "request":
        raise TypeError(f"{message.name} is not a request")
    header = RequestHeader(message.key, version, correlation, client_id)
    head = to_bytes(header, request_header_version(message, version))
    body = to_bytes(request, version)
    return b"".join([_SIZE.pack(len(head) + len(body)), head, body])


def response_class(request: object) -> type[object]:
    """Return the class of the response to a request. Raises TypeError if there is none."""
    message = message_of(type(request))
    if message.response is None:
        raise TypeError(f"{message.name} is no request with a response")
    return message.response


def response_size(head: Buffer, largest: int = LARGEST) -> int:
    """Return the size of the response that follows `head`, four bytes. Raises ProtocolError."""
    (size,) = _SIZE.unpack_from(head)
    if not _LEAST <= size <= largest:
        raise ProtocolError(f"answer of {size} bytes: want {_LEAST} to {largest}")
    return int(size)


def correlation_of(frame: Buffer) -> int:
    """Return the correlation id of a response, from a frame without its size."""
    return int(_SIZE.unpack_from(frame)[0])


def decode_response(response: type[A], version: int, frame: Buffer) -> A:
    """Return the response in a frame without its size.

    Its records are views of `frame`, which must not change afterwards. Raises ProtocolError.
    """
    message = message_of(response)
    _, position = decoder(ResponseHeader, response_header_version(message, version))(frame, 0)
    if message.key == _API_VERSIONS and frame[4:6] == _UNSUPPORTED:
        version = 0  # the server lacks our version, and says so in version 0 (KIP-511)
    answer, end = decoder(response, version)(frame, position)
    if end != len(frame):
        raise ProtocolError(f"{message.name} of {len(frame)} bytes: want {end}")
    return answer


def stable_versions(message: Message) -> Range:
    """Return the first and the last version that are not unstable."""
    first, last = message.versions
    if message.unstable[0] <= message.unstable[1]:
        last = min(last, message.unstable[0] - 1)
    return first, last


def common_version(message: Message, served: Range) -> int | None:
    """Return the highest stable version that both sides know; None: there is none.

    served: the first and the last version that the other side serves.
    """
    first, last = stable_versions(message)
    version = min(last, served[1])
    return version if version >= max(first, served[0]) else None
