"""Headers of requests and responses, and which version of a header applies.

Flexible request versions have header 2, others header 1. Flexible responses have header 1, others
header 0. The response to ApiVersions always has header 0, because its reader does not yet know
which versions the broker supports (KIP-511).
"""

from collections.abc import Callable
from struct import Struct
from struct import error as StructError  # noqa: N812 - an exception by its role
from typing import Final

from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.primitives import Buffer, Malformed, read_tags
from trio_kafka.protocol.schema import Message, data, int16, int32, string
from trio_kafka.protocol.versions import covers

_API_VERSIONS: Final = 18
_HEAD: Final = Struct(">hhih").unpack_from


@data(versions="1-2", flexible="2+")
class RequestHeader:
    """Header of every request. The client id is never written as a compact string."""

    request_api_key: int = int16()
    request_api_version: int = int16()
    correlation_id: int = int32()
    client_id: str | None = string(nullable="1+", flexible="none")


@data(versions="0-1", flexible="1+")
class ResponseHeader:
    """Header of every response."""

    correlation_id: int = int32()


def request_header_version(message: Message, version: int) -> int:
    """Return the header version of a request; also valid for versions that are not served."""
    return 2 if covers(message.flexible, version) else 1


def response_header_version(message: Message, version: int) -> int:
    """Return the header version of a response; `message` is the request or the response."""
    return int(message.key != _API_VERSIONS and covers(message.flexible, version))


def parse_request_head(
    frame: Buffer, is_flexible: Callable[[int, int], bool]
) -> tuple[int, int, int, str | None, int]:
    """Return key, version, correlation id, client id and body position of a request frame.

    is_flexible: tells if a version of a key is flexible; may raise ProtocolError for unknown keys.
    Copies only the client id; skips the tagged fields of the header. About 0.4 µs.
    Raises DecodeError.
    """
    try:
        key, version, correlation_id, size = _HEAD(frame, 0)
        position = 10
        client_id = None
        if size >= 0:
            position += size
            if position > len(frame):
                raise Malformed("the client id is longer than the rest of the frame")
            client_id = str(frame[10:position], "utf-8")
        elif size != -1:
            raise Malformed("the client id has a negative length")
        if is_flexible(key, version):
            count = frame[position]
            position += 1
            if count:
                _, position = read_tags(frame, position, count)
    except (StructError, IndexError, ValueError) as error:
        raise DecodeError(f"a frame of {len(frame)} bytes, the request header: {error}") from error
    return key, version, correlation_id, client_id, position
