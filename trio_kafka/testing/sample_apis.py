"""Three small APIs with keys 10100 to 10102, for tests of request processing.

Each test supplies its own handlers.
"""

from typing import ClassVar

from trio_kafka.protocol.schema import int16, int32, records, request, response, string


@request(key=10100, versions="0-1", flexible="1+")
class EchoRequest:
    """Text with a number that identifies the request."""

    response: ClassVar[type["EchoResponse"]]

    text: str = string()
    number: int = int32()


@response(EchoRequest)
class EchoResponse:
    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    text: str = string()
    number: int = int32()


@request(key=10101, versions="0")
class WaitRequest:
    """Request that waits up to a timeout."""

    response: ClassVar[type["WaitResponse"]]

    timeout_ms: int = int32()


@response(WaitRequest)
class WaitResponse:
    error_code: int = int16()
    outcome: str = string()


@request(key=10102, versions="0")
class ReadRequest:
    """Request for bytes of a file."""

    response: ClassVar[type["ReadResponse"]]

    position: int = int32()
    size: int = int32()


@response(ReadRequest)
class ReadResponse:
    """Response without an error code: this API has no error response of its own."""

    data: memoryview | None = records(nullable="0+")
