import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k36_sasl_authenticate import SaslAuthenticateRequest


@pytest.mark.parametrize("version", stable(SaslAuthenticateRequest))
async def test_a_token_on_a_listener_without_sasl_is_an_illegal_state(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        answer = await served.ask(SaslAuthenticateRequest(b"\0ann\0secret"), version)

    assert answer.error_code == ErrorCode.ILLEGAL_SASL_STATE
    assert answer.error_message.endswith("received after successful authentication")
