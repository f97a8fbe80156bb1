"""SASL as the handshake of a session: choose a mechanism, then exchange its tokens.

Source: KIP-152 (SaslAuthenticate), KIP-368 (session lifetime).
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.peers.session import Handshake, Work, exchange
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest
from trio_kafka.security.sasl.client import Credentials, begin_exchange
from trio_kafka.security.sasl.errors import AuthenticationError
from trio_kafka.security.tokens.bearer import BearerToken

_SESSION_SHARE: Final = 0.85  # of a session's lifetime; Kafka's clients use 0.85 to 0.95
_FAILED: Final = ErrorCode.SASL_AUTHENTICATION_FAILED


def log_in(
    credentials: Credentials | BearerToken, random_bytes: Callable[[int], bytes]
) -> Handshake:
    """Log in on a connection that has agreed on versions; returns for how many seconds.

    Raises KafkaError: SASL_AUTHENTICATION_FAILED, UNSUPPORTED_SASL_MECHANISM, ILLEGAL_SASL_STATE.
    """
    mechanism, messages = credentials.mechanism, begin_exchange(credentials, random_bytes)
    shaken = yield from exchange(SaslHandshakeRequest(mechanism))
    if shaken.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        enabled = ", ".join(sorted(shaken.mechanisms)) or "none"
        reason = f"the broker does not enable {mechanism}; it enables: {enabled}"
        raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, reason)
    if shaken.error_code == ErrorCode.ILLEGAL_SASL_STATE:
        reason = "this listener does not use SASL: check the port, or security.protocol"
        raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, reason)
    if shaken.error_code:
        raise KafkaError(_FAILED, f"SaslHandshake: error code {shaken.error_code}")
    token = b""
    lifetime_ms = 0
    try:
        message = next(messages)
        while True:
            if callable(message):
                token = bytes((yield Work(message)))  # type: ignore[call-overload]  # of a LongCall
            else:
                answer = yield from exchange(SaslAuthenticateRequest(message))
                if answer.error_code:
                    reason = answer.error_message or f"error code {answer.error_code}"
                    raise KafkaError(_FAILED, f"{mechanism} login was rejected: {reason}")
                token, lifetime_ms = bytes(answer.auth_bytes), answer.session_lifetime_ms
            message = messages.send(token)
    except StopIteration:
        return lifetime_ms * _SESSION_SHARE / 1000 if lifetime_ms > 0 else float("inf")
    except AuthenticationError as error:
        raise KafkaError(_FAILED, error.reason) from None
