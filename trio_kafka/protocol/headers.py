"""Headers of requests and responses, and which version of a header applies.

Flexible request versions have header 2, others header 1. Flexible responses have header 1, others
header 0. The response to ApiVersions always has header 0, because its reader does not yet know
which versions the broker supports (KIP-511).
"""

from typing import Final

from trio_kafka.protocol.schema import Message, data, int16, int32, string
from trio_kafka.protocol.versions import covers

_API_VERSIONS: Final = 18


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
