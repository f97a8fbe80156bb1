"""What stands before requests and responses, and in which version.

A request has header 2 in flexible versions and 1 in others. A response has header 1 and 0, but that
of ApiVersions always has 0: its reader cannot know yet what the sender understands (KIP-511).
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
    """Before every request. The client id is the one string that no version writes compactly."""

    request_api_key: int = int16()
    request_api_version: int = int16()
    correlation_id: int = int32()
    client_id: str | None = string(nullable="1+", flexible="none")


@data(versions="0-1", flexible="1+")
class ResponseHeader:
    """Before every response."""

    correlation_id: int = int32()


def request_header_version(message: Message, version: int) -> int:
    """The version of the header that goes before a request; also for versions nobody serves."""
    return 2 if covers(message.flexible, version) else 1


def response_header_version(message: Message, version: int) -> int:
    """The version of the header that goes before a response; `message` is request or response."""
    return int(message.key != _API_VERSIONS and covers(message.flexible, version))


def parse_request_head(
    frame: Buffer, is_flexible: Callable[[int, int], bool]
) -> tuple[int, int, int, str | None, int]:
    """Key, version, correlation id, client id and the position of the body of a request's frame.

    is_flexible: whether a version of a key is flexible; it may raise ProtocolError for unknown
    ones. Nothing but the
        client id is copied; tagged fields of the header are skipped. About 0.4 µs.
    Raises DecodeError.
    """
    try:
        key, version, correlation_id, size = _HEAD(frame, 0)
        position = 10
        client_id = None
        if size >= 0:
            position += size
            if position > len(frame):
                raise Malformed("a client id longer than what is left")
            client_id = str(frame[10:position], "utf-8")
        elif size != -1:
            raise Malformed("a negative length of the client id")
        if is_flexible(key, version):
            count = frame[position]
            position += 1
            if count:
                _, position = read_tags(frame, position, count)
    except (StructError, IndexError, ValueError) as error:
        raise DecodeError(f"a frame of {len(frame)} bytes, the request header: {error}") from error
    return key, version, correlation_id, client_id, position
