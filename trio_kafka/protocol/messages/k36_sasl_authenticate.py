"""SaslAuthenticate (key 36): exchange the bytes of a SASL mechanism, after SaslHandshake 1."""

from typing import ClassVar

from trio_kafka.protocol.schema import bytes_, int16, int64, request, response, string


@request(key=36, versions="0-2", flexible="2+")
class SaslAuthenticateRequest:
    """Bytes of the client's mechanism."""

    response: ClassVar[type["SaslAuthenticateResponse"]]

    auth_bytes: bytes = bytes_()


@response(SaslAuthenticateRequest)
class SaslAuthenticateResponse:
    """Bytes of the server's mechanism, and the session lifetime."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+")
    auth_bytes: bytes = bytes_()
    session_lifetime_ms: int = int64("1+", ignorable=True)
