"""As whom the gateway asks, and what it makes of errors."""

import pytest
from trio.testing import MockClock

from tests.apis.authorizers import allow_only
from tests.trio_kafka_builtin.rest_gateway.kit import gateway
from trio_kafka.errors import ErrorCode
from trio_kafka.security.authorizer import ALLOW_ALL
from trio_kafka.security.operations import Operation
from trio_kafka.security.principal import Principal
from trio_kafka.security.resources import ResourceType
from trio_kafka_builtin.rest_gateway.client import refused


@pytest.mark.parametrize("principal", ["alice", ":alice", "User:"])
async def test_a_principal_setting_without_type_and_name_fails_the_plugin(
    principal: str, autojump_clock: MockClock
) -> None:
    async with gateway(principal=principal) as rest:
        (status,) = rest.served.broker.plugins.statuses()
        assert status.state == "failed"
        assert "expected type:name" in status.error


def test_an_unknown_error_code_becomes_unknown_server_error() -> None:
    assert refused(3, "text").code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert refused(3, "text").message == "text"
    assert refused(31_000, None).code is ErrorCode.UNKNOWN_SERVER_ERROR


ALICE = Principal("User", "alice")


@pytest.mark.parametrize(
    ("fixed", "expected"), [("", ALICE), ("User:web", Principal("User", "web"))]
)
async def test_the_principal_of_the_http_request_is_used_unless_the_setting_gives_another(
    autojump_clock: MockClock, fixed: str, expected: Principal
) -> None:
    async with gateway(principal=fixed) as rest:
        await rest.served.create_topic("orders")
        parts = rest.served.broker.parts
        parts.authorizer = rule = allow_only("orders")
        rest.principal = ALICE
        await rest.json("GET", "/v1/topics/orders")
        await rest.produce("orders", {"value": 1})
        parts.authorizer = ALLOW_ALL

    assert rule.principals == {(expected, "127.0.0.1")}
    assert rule.decisions == {
        (Operation.DESCRIBE, ResourceType.TOPIC),
        (Operation.WRITE, ResourceType.TOPIC),
    }


async def test_topics_that_the_client_may_not_describe_are_hidden(
    autojump_clock: MockClock,
) -> None:
    async with gateway() as rest:
        for name in ("orders", "secret"):
            await rest.served.create_topic(name)
        parts = rest.served.broker.parts
        parts.authorizer = allow_only("orders")
        listed = await rest.json("GET", "/v1/topics")
        for name in ("secret", "none"):
            await rest.json("GET", f"/v1/topics/{name}", status=403)
            path = f"/v1/topics/{name}/partitions/0/records"
            await rest.json("GET", path, status=403)
        parts.authorizer = ALLOW_ALL

    assert listed["topics"] == ["orders"]
