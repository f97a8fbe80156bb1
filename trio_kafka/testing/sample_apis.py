"""Three small APIs of no product, for tests of what moves requests: keys 10100 to 10102.

What they do is for each test to say, by handlers of its own.
"""

from trio_kafka.protocol.schema import int16, int32, records, request, response, string


@request(key=10100, versions="0-1", flexible="1+")
class EchoRequest:
    """A text, and a number to tell one from the other."""

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
    """Waits for something, at most so long."""

    timeout_ms: int = int32()


@response(WaitRequest)
class WaitResponse:
    error_code: int = int16()
    outcome: str = string()


@request(key=10102, versions="0")
class ReadRequest:
    """Wants bytes of a file."""

    position: int = int32()
    size: int = int32()


@response(ReadRequest)
class ReadResponse:
    """Without an error code: this API has no error answer of its own."""

    data: memoryview | None = records(nullable="0+")
