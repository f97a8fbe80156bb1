"""States of an authenticator, as Kafka's SaslServerAuthenticator has them."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.network.authentication.frames import (
    METADATA,
    TOKEN,
    USERS,
    answer_of,
    authenticated,
    authenticator,
    handshake,
    token,
    versions,
)
from trio_kafka.errors import ErrorCode, ProtocolError
from trio_kafka.network.authentication.sasl_authenticator import SaslAuthenticator
from trio_kafka.network.authenticator import PASS
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeResponse
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsResponse
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka.security.sasl.exchange import ServerMechanism
from trio_kafka.security.sasl.plain import PlainServer


def at(state: str, longest_session_ms: int = 0) -> SaslAuthenticator:
    """An authenticator after some frames: v: ApiVersions, h: handshake 1, 0: handshake 0, t."""
    sasl = authenticator(longest_session_ms)
    frames = {"v": versions(), "h": handshake(), "0": handshake(version=0), "t": token()}
    for letter in state:
        sasl.take(frames[letter], 0.0)
    return sasl


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_api_versions_is_served_once_and_then_a_handshake_is_expected(version: int) -> None:
    sasl = authenticator()

    assert sasl.take(versions(version), 0.0) is PASS
    with pytest.raises(ProtocolError, match="a second ApiVersions"):
        sasl.take(versions(version), 0.0)


def test_an_unknown_version_of_api_versions_may_be_followed_by_a_known_one() -> None:
    sasl = authenticator()

    assert sasl.take(versions(99), 0.0) is PASS
    assert sasl.take(versions(99), 0.0) is PASS
    assert sasl.take(versions(), 0.0) is PASS


@pytest.mark.parametrize("before", ["", "v"])
@pytest.mark.parametrize("version", [0, 1])
def test_the_answer_to_a_handshake_lists_the_mechanisms_in_order(before: str, version: int) -> None:
    step = at(before).take(handshake(version=version), 0.0)

    response = answer_of(step, SaslHandshakeResponse, version)
    assert (response.error_code, response.mechanisms) == (0, ["PLAIN", "OTHER"])
    assert step.failure is None


@pytest.mark.parametrize("version", [0, 1])
def test_a_handshake_of_an_unknown_mechanism_is_answered_with_the_mechanisms_and_fails(
    version: int,
) -> None:
    step = authenticator().take(handshake("GSSAPI", version), 0.0)

    response = answer_of(step, SaslHandshakeResponse, version)
    assert response.error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM
    assert response.mechanisms == ["PLAIN", "OTHER"]
    assert step.failure == "mechanism 'GSSAPI' is not enabled"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_token_within_sasl_authenticate_authenticates_the_client(version: int) -> None:
    sasl = at("vh")

    step = sasl.take(token(version=version), 0.0)

    assert authenticated(step, version).auth_bytes == b""
    assert step.is_last


def test_a_token_without_a_header_follows_handshake_version_0() -> None:
    step = at("v0").take(TOKEN, 0.0)

    assert str(step.principal) == "User:ann"
    assert step.answer == bytes(4)


def test_a_wrong_token_without_a_header_fails_without_an_answer() -> None:
    step = at("0").take(b"\0ann\0wrong", 0.0)

    assert (step.answer, step.principal) == (None, None)
    assert step.failure == "Authentication failed: Invalid username or password"


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_wrong_token_is_answered_with_the_reason(version: int) -> None:
    step = at("h").take(token(b"\0ann\0wrong", version), 0.0)

    response = answer_of(step, SaslAuthenticateResponse, version)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == "Authentication failed: Invalid username or password"
    assert step.failure == response.error_message
    assert step.principal is None


@pytest.mark.parametrize(
    ("frame", "response", "version"),
    [
        (handshake(), SaslHandshakeResponse, 1),
        (versions(), ApiVersionsResponse, 3),
        (versions(99), ApiVersionsResponse, 0),
    ],
)
def test_another_request_in_the_middle_of_an_exchange_is_an_illegal_sasl_state(
    frame: bytes, response: type[Any], version: int
) -> None:
    step = at("vh").take(frame, 0.0)

    assert answer_of(step, response, version).error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert step.failure is not None


def test_a_request_of_another_api_in_the_middle_of_an_exchange_fails() -> None:
    step = at("vh").take(METADATA, 0.0)

    assert step.failure == "request with key 3 in the middle of the exchange"
    assert not step.passes


@pytest.mark.parametrize("before", ["", "v"])
@pytest.mark.parametrize(
    "frame", [METADATA, token(), b"", bytes(20), handshake()[:-1], b"GET / HTTP/1.1\r\n", TOKEN]
)
def test_another_request_before_the_handshake_ends_the_connection_at_once(
    before: str, frame: bytes
) -> None:
    with pytest.raises(ProtocolError):
        at(before).take(frame, 0.0)


@pytest.mark.parametrize("frame", [b"", token()[:-1], token(version=2)[:2] + b"\0\x09" + bytes(9)])
def test_a_malformed_frame_in_an_exchange_ends_the_connection_at_once(frame: bytes) -> None:
    with pytest.raises(ProtocolError):
        at("vh").take(frame, 0.0)


# --- sessions


def test_requests_pass_until_the_session_ends_and_the_next_one_closes_the_connection() -> None:
    sasl = authenticator(2000)
    sasl.take(handshake(), 0.0)
    step = sasl.take(token(), 10.0)

    assert authenticated(step).session_lifetime_ms == 2000
    assert not step.is_last
    assert sasl.take(METADATA, 12.0) is PASS
    assert sasl.take(METADATA, 12.001).is_expired


def test_a_session_is_renewed_by_the_same_user() -> None:
    sasl = at("ht", longest_session_ms=2000)

    step = sasl.take(handshake(), 1.5)
    assert answer_of(step, SaslHandshakeResponse, 1).error_code == 0
    assert sasl.is_renewing
    assert authenticated(sasl.take(token(), 1.6)).session_lifetime_ms == 2000

    assert not sasl.is_renewing
    assert sasl.take(METADATA, 3.5) is PASS
    assert sasl.take(METADATA, 3.7).is_expired


def test_a_session_may_be_renewed_after_its_end() -> None:
    sasl = at("ht", longest_session_ms=2000)

    sasl.take(handshake(), 5.0)
    sasl.take(token(), 5.0)

    assert sasl.take(METADATA, 5.5) is PASS


def test_a_session_is_renewed_at_most_once_a_second() -> None:
    sasl = at("ht", longest_session_ms=60_000)
    sasl.take(handshake(), 1.0)
    sasl.take(token(), 1.0)

    assert sasl.take(handshake(), 1.9) is PASS  # its handler answers ILLEGAL_SASL_STATE
    assert not sasl.take(handshake(), 2.0).passes


def test_another_user_cannot_renew_a_session() -> None:
    sasl = at("ht", longest_session_ms=2000)
    sasl.take(handshake(), 1.5)

    step = sasl.take(token(b"\0bob\0pw"), 1.5)

    response = answer_of(step, SaslAuthenticateResponse, 2)
    assert response.error_code == ErrorCode.SASL_AUTHENTICATION_FAILED
    assert response.error_message == "Cannot change principals during re-authentication"
    assert step.principal is None


def test_a_session_cannot_be_renewed_by_another_mechanism() -> None:
    sasl = at("ht", longest_session_ms=2000)

    assert sasl.take(handshake("OTHER"), 1.5).failure is None
    step = sasl.take(token(), 1.5)

    response = answer_of(step, SaslAuthenticateResponse, 2)
    assert "'OTHER' requested by client is not supported for re-auth" in response.error_message
    assert step.failure == response.error_message


class Expiring(PlainServer):
    """PLAIN whose credential ends 3 s after the wall-clock time of these tests."""

    def evaluate(self, token: bytes) -> bytes:
        self.expires_ms = 1_003_000
        return super().evaluate(token)


@pytest.mark.parametrize(("longest_ms", "lifetime_ms"), [(0, 3000), (2000, 2000), (9000, 3000)])
def test_the_shorter_of_credential_and_limit_is_the_lifetime_of_a_session(
    longest_ms: int, lifetime_ms: int
) -> None:
    mechanism = ServerMechanism(
        name="PLAIN", begin=lambda: Expiring(USERS), longest_session_ms=longest_ms
    )
    sasl = SaslAuthenticator({"PLAIN": mechanism}, lambda: 1_000_000.0)
    sasl.take(handshake(), 0.0)

    assert authenticated(sasl.take(token(), 0.0)).session_lifetime_ms == lifetime_ms


@pytest.mark.parametrize(("version", "knows"), [(0, False), (1, True), (2, True)])
def test_a_client_learns_of_the_end_of_its_session_from_sasl_authenticate_1_on(
    version: int, knows: bool
) -> None:
    assert at("h").take(token(version=version), 0.0).knows_sessions is knows
    assert not at("0").take(TOKEN, 0.0).knows_sessions


def test_the_time_of_a_renewal_begins_with_its_handshake() -> None:
    sasl = authenticator(2000)
    sasl.take(handshake(), 0.0)
    assert sasl.take(token(), 0.5).renewal_s is None

    sasl.take(handshake(), 1.5)
    assert sasl.take(token(), 1.75).renewal_s == 0.25


FRAMES = (
    st.sampled_from([METADATA, TOKEN, b"", versions(), versions(99), handshake(), handshake("X")])
    | st.sampled_from([handshake(version=0), token(b"\0ann\0wrong"), token(b""), handshake()[:5]])
    | st.binary(max_size=40)
)


@given(st.lists(FRAMES, max_size=6), st.sampled_from([0, 1000]))
def test_no_sequence_of_frames_without_the_password_lets_a_request_through(
    frames: list[bytes], longest_ms: int
) -> None:
    sasl = authenticator(longest_ms)

    for frame in frames:
        try:
            step = sasl.take(frame, 0.0)
        except ProtocolError:
            return
        if frame == TOKEN and step.principal is not None:
            return  # the right one, after handshake 0
        assert step.principal is None
        assert not step.passes or frame[:2] == b"\0\x12"
        if step.failure is not None:
            return
