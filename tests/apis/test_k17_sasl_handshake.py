import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k17_sasl_handshake import SaslHandshakeRequest


@pytest.mark.parametrize("version", stable(SaslHandshakeRequest))
async def test_a_handshake_on_a_listener_without_sasl_is_an_illegal_state(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(SaslHandshakeRequest("PLAIN"), version)

    assert (answer.error_code, answer.mechanisms) == (ErrorCode.ILLEGAL_SASL_STATE, [])
