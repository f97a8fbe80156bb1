import pytest

from tests.network.authentication.frames import METADATA, handshake, token, versions
from trio_kafka.errors import ProtocolError
from trio_kafka.network.authentication.sasl_frames import (
    Head,
    decode,
    illegal_state,
    is_known,
    read_head,
)
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest


def test_the_head_of_a_request_has_key_version_and_correlation_id() -> None:
    assert read_head(handshake()) == Head(17, 1, 0, len("scripted"))
    assert read_head(token(version=2))[:2] == (36, 2)


def test_a_frame_that_is_too_short_for_a_request_is_a_protocol_error() -> None:
    with pytest.raises(ProtocolError, match="9 bytes are no request"):
        read_head(bytes(9))


@pytest.mark.parametrize("version", [0, 1, 2])
def test_a_body_is_decoded_in_every_version(version: int) -> None:
    frame = token(b"data", version)

    assert decode(SaslAuthenticateRequest, frame, read_head(frame)).auth_bytes == b"data"


def test_versions_that_no_release_has_are_unknown() -> None:
    assert is_known(read_head(versions()))
    assert not is_known(read_head(versions(99)))
    assert not is_known(Head(17, 0xFFFF, 0, -1))


def test_only_requests_of_the_sasl_phase_are_answered_in_the_middle_of_an_exchange() -> None:
    assert illegal_state(read_head(METADATA)) is None
    assert illegal_state(Head(17, 9, 0, -1)) is None
    assert illegal_state(read_head(handshake())) is not None
