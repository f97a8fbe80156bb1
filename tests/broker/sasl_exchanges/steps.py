"""Cases of raw SASL exchanges: what a client sends, step by step, and how an answer is read."""

import struct
from collections.abc import Callable, Generator
from typing import Any, Final

from attrs import frozen

from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.testing.scripted_client import frame, request_frame
from trio_kafka.wire.client import response_class

CLIENT: Final = "raw"
"""Client id of each request."""
CORRELATION: Final = 7


@frozen(kw_only=True)
class Send:
    """Bytes to send, with the size of their frame; one frame or the end is received after them.

    response, version: of the answer; None: the answer is a token without a header.
    note: stands in the record for bytes that differ from run to run.
    """

    data: bytes
    response: type[Any] | None = None
    version: int = 0
    note: str = ""


@frozen
class Pause:
    """Time in which the client sends nothing and nothing is received."""

    seconds: float


Exchange = Generator[Send | Pause, bytes, None]
"""Yields steps and is sent the body of each answer: a token, where the answer has one."""


@frozen
class Case:
    """listener: name of one of those that `settings` describes. begin: takes the wall-clock time
    of the broker, in seconds.
    """

    name: str
    listener: str
    begin: Callable[[int], Exchange]


def request(message: Any, version: int, *, note: str = "") -> Send:
    """A whole request."""
    data = request_frame(message, version, correlation=CORRELATION, client_id=CLIENT)
    return Send(data=data, response=response_class(message), version=version, note=note)


def unknown(key: int, version: int, body: bytes = b"", *, flexible: bool = False) -> Send:
    """A request in a version, or with a key, that no release has."""
    data = frame(key, version, body, correlation=CORRELATION, client_id=CLIENT, flexible=flexible)
    return Send(data=data, response=ApiVersionsResponse if key == 18 else None)


def bare(token: bytes, note: str = "") -> Send:
    """A frame without a header, such as a token after SaslHandshake 0."""
    return Send(data=struct.pack(">i", len(token)) + token, note=note)


def cut(whole: Send, count: int) -> Send:
    """A request without its last bytes, in a frame of the right size."""
    body = whole.data[4:-count]
    return Send(
        data=struct.pack(">i", len(body)) + body, response=whole.response, version=whole.version
    )


def lengthened(whole: Send, more: bytes) -> Send:
    """A request with more bytes after its end, in a frame of the right size."""
    body = whole.data[4:] + more
    return Send(
        data=struct.pack(">i", len(body)) + body, response=whole.response, version=whole.version
    )


def after(first: Send, second: Send) -> Send:
    """Two requests in one go. The answer to the second one is received by `nothing`."""
    return Send(data=first.data + second.data, response=first.response, version=first.version)


def nothing(like: Send) -> Send:
    """Send nothing, and receive the answer to a request that was sent before."""
    return Send(data=b"", response=like.response, version=like.version)


def versions(version: int = 3, name: str = "raw", number: str = "1.0") -> Send:
    return request(ApiVersionsRequest(name, number), version)


def handshake(mechanism: str = "PLAIN", version: int = 1) -> Send:
    return request(SaslHandshakeRequest(mechanism), version)


def token(data: bytes, version: int = 2, note: str = "") -> Send:
    return request(SaslAuthenticateRequest(data), version, note=note)


def present(mechanism: str, data: bytes, version: int) -> Exchange:
    """A handshake and a token. version: of SaslAuthenticate; -1: it has no header."""
    yield handshake(mechanism, version=0 if version < 0 else 1)
    yield bare(data) if version < 0 else token(data, version)


def token_of(answer: Any) -> bytes:
    """The token in an answer."""
    return bytes(answer.auth_bytes) if isinstance(answer, SaslAuthenticateResponse) else b""


def steps(*sends: Send | Pause) -> Callable[[int], Exchange]:
    """The begin of a case whose steps depend on no answer."""

    def begin(_now_s: int) -> Exchange:
        for send in sends:
            _ = yield send

    return begin
