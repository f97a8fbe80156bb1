"""Frames of the SASL phase, and mechanisms to authenticate by."""

import struct
from collections.abc import Mapping
from typing import Any

from trio_kafka.network.authentication.sasl_authenticator import SaslAuthenticator
from trio_kafka.network.authenticator import Step
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import (
    SaslAuthenticateRequest,
    SaslAuthenticateResponse,
)
from trio_kafka.security.sasl.exchange import ServerMechanism
from trio_kafka.security.sasl.plain import PlainServer
from trio_kafka.testing.scripted_client import frame, request_frame
from trio_kafka.wire import client as wire

USERS = {"ann": "secret", "bob": "pw"}
TOKEN = b"\0ann\0secret"
METADATA = frame(3, 0)[4:]


def mechanisms(longest_session_ms: int = 0) -> Mapping[str, ServerMechanism]:
    """PLAIN with two users, under two names."""
    return {
        name: ServerMechanism(
            name=name, begin=lambda: PlainServer(USERS), longest_session_ms=longest_session_ms
        )
        for name in ("PLAIN", "OTHER")
    }


def authenticator(longest_session_ms: int = 0) -> SaslAuthenticator:
    return SaslAuthenticator(mechanisms(longest_session_ms), lambda: 1_000_000.0)


def versions(version: int = 3) -> bytes:
    if version > 4:
        return frame(18, version, flexible=True)[4:]
    return request_frame(ApiVersionsRequest("test", "1"), version)[4:]


def handshake(mechanism: str = "PLAIN", version: int = 1) -> bytes:
    return request_frame(SaslHandshakeRequest(mechanism), version)[4:]


def token(data: bytes = TOKEN, version: int = 2) -> bytes:
    return request_frame(SaslAuthenticateRequest(data), version)[4:]


def answer_of(step: Step, response: type[Any], version: int) -> Any:
    """The response in a step."""
    assert step.answer is not None
    (size,) = struct.unpack_from(">i", step.answer)
    assert size == len(step.answer) - 4
    return wire.decode_response(response, version, step.answer[4:])


def authenticated(step: Step, version: int = 2) -> SaslAuthenticateResponse:
    """The response of a step that authenticates ann."""
    assert str(step.principal) == "User:ann"
    response: SaslAuthenticateResponse = answer_of(step, SaslAuthenticateResponse, version)
    assert response.error_code == 0
    return response
