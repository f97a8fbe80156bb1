"""As whom the gateway asks, and what it makes of errors."""

import pytest
from trio.testing import MockClock

from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka.errors import ErrorCode
from trio_kafka_builtin.rest_gateway.client import refused


@pytest.mark.parametrize("principal", ["alice", ":alice", "User:", ""])
async def test_a_principal_has_a_type_and_a_name(principal: str, autojump_clock: MockClock) -> None:
    async with gateway(principal=principal) as rest:
        (status,) = rest.served.broker.plugins.statuses()
        assert status.state == "failed"
        assert "want type:name" in status.error


def test_a_code_that_nobody_knows_is_an_error_of_the_server() -> None:
    assert refused(3, "text").code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(3, "text").message == "text"
    assert refused(31_000, None).code is ErrorCode.UNKNOWN_SERVER_ERROR
