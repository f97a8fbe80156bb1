"""Frames of the SASL phase: their heads, and the answers to them."""

from typing import Final, NamedTuple, TypeVar

from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.headers import response_header_version
from trio_kafka.protocol.messages.k17_sasl_handshake import (
    SaslHandshakeRequest,
    SaslHandshakeResponse,
)
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.protocol.schema import message_of
from trio_kafka.protocol.versions import covers
from trio_kafka.wire.frame import LEAST, Frame
from trio_kafka.wire.server import HEAD, body_position, small_answer

A = TypeVar("A")
SASL_HANDSHAKE: Final = 17
API_VERSIONS: Final = 18
SASL_AUTHENTICATE: Final = 36
_REQUESTS: Final[dict[int, type[object]]] = {
    SASL_HANDSHAKE: SaslHandshakeRequest,
    API_VERSIONS: ApiVersionsRequest,
    SASL_AUTHENTICATE: SaslAuthenticateRequest,
}


class Head(NamedTuple):
    """Head of a request. client_length: of the client id; -1: null."""

    key: int
    version: int
    correlation: int
    client_length: int


def read_head(frame: Frame) -> Head:
    """Return the head of a request. Raises ProtocolError for a frame that is too short."""
    if len(frame) < LEAST:
        raise ProtocolError(f"{len(frame)} bytes are no request: want at least {LEAST}")
    code, correlation, length = HEAD(frame, 0)
    return Head(code >> 16, code & 0xFFFF, correlation, length)


def is_known(head: Head) -> bool:
    """Return whether the version of a request of this phase exists."""
    first, last = message_of(_REQUESTS[head.key]).versions
    return first <= head.version <= last


def decode(cls: type[A], frame: Frame, head: Head) -> A:
    """Decode the body of a request, whose version must be known. Raises ProtocolError."""
    flexible = covers(message_of(cls).flexible, head.version)
    position = body_position(frame, head.client_length, flexible=flexible)
    message, _ = decoder(cls, head.version)(frame, position)
    return message


def encode(head: Head, response: object) -> bytes:
    """Return the frame of an answer."""
    message = message_of(type(response))
    flexible = response_header_version(message, head.version) > 0
    return small_answer(head.correlation, to_bytes(response, head.version), flexible=flexible)


def illegal_state(head: Head) -> bytes | None:
    """Return the answer to a request in the middle of an exchange; None: it gets none."""
    code = ErrorCode.ILLEGAL_SASL_STATE
    if head.key == SASL_HANDSHAKE and is_known(head):
        return encode(head, SaslHandshakeResponse(error_code=code))
    if head.key == API_VERSIONS:
        readable = head if is_known(head) else head._replace(version=0)
        return encode(readable, ApiVersionsResponse(error_code=code))
    return None


def challenge(head: Head, token: bytes, lifetime_ms: int) -> bytes:
    """Return the answer to SaslAuthenticate. lifetime_ms: of the session; 0: unlimited."""
    return encode(head, SaslAuthenticateResponse(auth_bytes=token, session_lifetime_ms=lifetime_ms))


def rejection(head: Head, message: str) -> bytes:
    """Return the answer to SaslAuthenticate with invalid credentials."""
    return encode(
        head,
        SaslAuthenticateResponse(
            error_code=ErrorCode.SASL_AUTHENTICATION_FAILED, error_message=message
        ),
    )
