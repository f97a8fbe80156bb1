"""Sessions without I/O: versions, handshake, throttle, and what ends them."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.peers.kit import PASSWORD, log_in, served
from trio_kafka.errors import ErrorCode, KafkaError, ProtocolError
from trio_kafka.peers.session import Profile, Progress, Session
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.messages.k03_metadata import MetadataRequest
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeResponse
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest, ApiVersionsResponse
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateResponse
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse
from trio_kafka.wire.client import request_frame
from trio_kafka.wire.server import small_answer

SERVED = {3: (0, 12), 17: (0, 1), 18: (0, 4), 36: (0, 2), 10100: (0, 1)}


def receive(session: Session, response: object, version: int, now: float = 0.0) -> Progress:
    """Progress of the session by the response to its oldest request, received at once."""
    oldest = session.in_flight.oldest
    assert oldest is not None
    assert oldest.version == version or isinstance(response, ApiVersionsResponse)
    flexible = version >= 1 and isinstance(response, EchoResponse)
    flexible = flexible or (version >= 2 and isinstance(response, SaslAuthenticateResponse))
    data = small_answer(oldest.correlation, to_bytes(response, version), flexible=flexible)
    while True:
        room = session.room()
        room[:] = data[: len(room)]
        data = data[len(room) :]
        progress = session.received(len(room), now)
        if not data:
            return progress


def opened(keys: dict[int, tuple[int, int]] = SERVED) -> Session:
    session = Session(Profile(client_id="me"))
    session.begin()
    receive(session, served(keys), 4)
    assert session.is_open
    return session


def test_session_begins_with_api_versions_and_is_open_after_the_response() -> None:
    session = Session(Profile(client_id="me", software=("mine", "2")))

    first = session.begin()

    assert first == request_frame(ApiVersionsRequest("mine", "2"), 4, correlation=1, client_id="me")
    assert not session.is_open
    assert receive(session, served(SERVED), 4) == Progress()
    assert session.is_open
    assert session.expires == float("inf")


def test_api_versions_is_repeated_in_the_version_that_the_peer_names() -> None:
    session = Session(Profile())
    session.begin()

    again = receive(session, ApiVersionsResponse(35, served({18: (0, 2)}).api_keys), 0)

    assert again.to_send == request_frame(ApiVersionsRequest(), 2, correlation=2)
    receive(session, served(SERVED), 2)
    assert session.is_open


def test_api_versions_is_repeated_in_version_0_if_the_peer_names_no_version() -> None:
    session = Session(Profile())
    session.begin()

    again = receive(session, ApiVersionsResponse(35), 0)

    assert again.to_send == request_frame(ApiVersionsRequest(), 0, correlation=2)


def test_session_fails_if_the_peer_rejects_every_version_of_api_versions() -> None:
    session = Session(Profile())
    session.begin()

    with pytest.raises(ProtocolError, match="ApiVersions 0: error code 35"):
        for _ in range(6):
            receive(session, ApiVersionsResponse(35, served({18: (0, 4)}).api_keys), 0)


def test_error_of_api_versions_ends_the_session() -> None:
    session = Session(Profile())
    session.begin()

    with pytest.raises(ProtocolError, match="ApiVersions 4: error code 41"):
        receive(session, ApiVersionsResponse(41), 4)


def test_steps_of_the_handshake_are_sent_in_turn_and_set_the_session_lifetime() -> None:
    session = Session(Profile(), log_in())
    session.begin()

    first = receive(session, served(SERVED), 4)
    assert first.to_send[4:8] == b"\0\x11\0\1"
    assert not session.is_open
    second = receive(session, SaslHandshakeResponse(0, ["PLAIN"]), 1)
    assert PASSWORD in second.to_send
    last = receive(session, SaslAuthenticateResponse(session_lifetime_ms=2000), 2, now=100.0)

    assert last == Progress()
    assert session.is_open
    assert session.expires == 102.0


@pytest.mark.slow
@given(st.lists(st.integers(1, 9), min_size=1))
def test_session_opens_whatever_the_sizes_of_the_received_pieces(sizes: list[int]) -> None:
    session = Session(Profile(), log_in())
    session.begin()
    stream = b"".join(
        [
            small_answer(1, to_bytes(served(SERVED), 4), flexible=False),
            small_answer(2, to_bytes(SaslHandshakeResponse(0, ["PLAIN"]), 1), flexible=False),
            small_answer(3, to_bytes(SaslAuthenticateResponse(), 2), flexible=True),
        ]
    )
    sent = []

    for size in itertools.cycle(sizes):
        if not stream:
            break
        room = session.room()[:size]
        room[:] = stream[: len(room)]
        stream = stream[len(room) :]
        sent.append(session.received(len(room), 0.0).to_send)

    assert session.is_open
    assert [frame[4:6] for frame in sent if frame] == [b"\0\x11", b"\0\x24"]


def test_error_of_a_handshake_ends_the_session() -> None:
    session = Session(Profile(), log_in())
    session.begin()
    receive(session, served(SERVED), 4)
    receive(session, SaslHandshakeResponse(0, ["PLAIN"]), 1)

    with pytest.raises(KafkaError, match="SASL_AUTHENTICATION_FAILED"):
        receive(session, SaslAuthenticateResponse(58), 2)
    assert not session.is_open


def test_deadline_of_the_handshake_applies_to_all_its_steps() -> None:
    session = Session(Profile(), log_in())
    session.begin(deadline=7.0)
    assert session.deadline == 7.0
    receive(session, served(SERVED), 4)
    assert session.deadline == 7.0
    receive(session, SaslHandshakeResponse(0, ["PLAIN"]), 1)
    receive(session, SaslAuthenticateResponse(), 2)

    assert session.deadline == float("inf")
    session.send(EchoRequest(), deadline=9.0)
    assert session.deadline == 9.0


def test_several_requests_may_be_in_flight() -> None:
    session = opened()
    for text in "ab":
        session.send(EchoRequest(text))
    assert len(session.in_flight) == 2

    responses = [receive(session, EchoResponse(text=text), 1).response for text in "ab"]

    assert responses == [EchoResponse(text="a"), EchoResponse(text="b")]


def test_version_is_the_highest_common_version_within_the_limit_of_the_sender() -> None:
    session = opened({10100: (0, 9), 3: (4, 12)})

    assert session.version_of(EchoRequest) == 1
    assert session.version_of(EchoRequest, at_most=0) == 0
    assert session.version_of(EchoRequest, at_most=5) == 1
    with pytest.raises(KafkaError, match="MetadataRequest version 3: the peer serves 4") as old:
        session.version_of(MetadataRequest, at_most=3)
    assert old.value.code is ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("keys", [{18: (0, 4)}, {10100: (2, 9)}])
def test_request_without_a_common_version_is_an_error_and_nothing_is_in_flight(
    keys: dict[int, tuple[int, int]],
) -> None:
    session = opened(keys)

    with pytest.raises(KafkaError, match="no version of EchoRequest that is known here"):
        session.send(EchoRequest())
    assert len(session.in_flight) == 0


def test_message_that_is_no_request_is_an_error() -> None:
    with pytest.raises(TypeError):
        opened().send(EchoResponse())


def test_throttle_time_of_a_response_delays_the_next_request_up_to_a_limit() -> None:
    session = opened()
    for throttle_ms, not_before in ((0, float("-inf")), (500, 100.5), (1 << 30, 130.0)):
        session.send(ApiVersionsRequest())
        response = served(SERVED)
        response.throttle_time_ms = throttle_ms
        receive(session, response, 4, now=100.0)

        assert session.not_before == not_before
