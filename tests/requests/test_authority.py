"""Which peers may change this broker by an API that is not Kafka's."""

from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.apis.authorizers import allow_only, deny_all
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.log import fields_of
from trio_kafka.model import Endpoint
from trio_kafka.plugin import Context, Operation, api
from trio_kafka.requests.authority import is_local
from trio_kafka.requests.loopback import IN_PROCESS
from trio_kafka.testing.harness import PluginHarness
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse

REJECTED = ErrorCode.CLUSTER_AUTHORIZATION_FAILED


@api(EchoRequest)
def change(request: EchoRequest, context: Context) -> EchoResponse:
    context.authorize_local(Operation.ALTER)
    return EchoResponse(text="changed")


async def ask_as(harness: PluginHarness, host: str) -> Any:
    client = harness.client()
    client.connection.peer = Endpoint(host, 5)
    return await client.ask(EchoRequest("x"))


@pytest.mark.parametrize("host", ["127.0.0.1", "127.9.9.9", "::1", "::ffff:127.0.0.1"])
async def test_local_api_serves_peers_with_a_loopback_address(
    autojump_clock: MockClock, host: str
) -> None:
    async with PluginHarness(handlers=[change]) as harness:
        assert (await ask_as(harness, host)).text == "changed"
        assert harness.parts.local_changes.rejected == 0


@pytest.mark.parametrize("host", ["10.0.0.1", "fd00::1", "::ffff:10.0.0.1", "localhost", ""])
async def test_local_api_rejects_peers_without_a_loopback_address(
    autojump_clock: MockClock, host: str
) -> None:
    async with PluginHarness(handlers=[change]) as harness:
        answer = await ask_as(harness, host)

        assert answer.error_code == REJECTED
        assert answer.text != "changed"
        assert harness.counters.value("request_errors", api="Echo", error=REJECTED.name) == 1


async def test_loopback_request_for_another_peer_is_authorized_by_the_address_of_that_peer(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[change]) as harness:
        ask = harness.parts.in_process.ask
        assert (await ask(EchoRequest("the broker's own"))).text == "changed"
        for host, error in (("127.0.0.1", 0), ("10.0.0.1", REJECTED), (IN_PROCESS.host, REJECTED)):
            answer = await ask(EchoRequest("for a client of HTTP"), peer=Endpoint(host, 0))
            assert answer.error_code == error


async def test_authorizer_decides_on_a_local_api_instead_of_the_peer_address(
    autojump_clock: MockClock,
) -> None:
    async with PluginHarness(handlers=[change]) as harness:
        harness.parts.authorizer = deny_all()
        refused = await ask_as(harness, "127.0.0.1")
        harness.parts.authorizer = allow_only("kafka-cluster")
        allowed = await ask_as(harness, "10.0.0.1")

    assert refused.error_code == REJECTED
    assert allowed.text == "changed"
    assert harness.parts.local_changes.rejected == 0


async def test_rejections_of_a_local_api_are_logged_once_a_second_with_peer_and_reason(
    autojump_clock: MockClock, caplog: pytest.LogCaptureFixture
) -> None:
    async with PluginHarness(handlers=[change]) as harness:
        for second in range(3):
            for _ in range(10):
                await ask_as(harness, f"10.0.0.{second}")
            await trio.sleep(1)
        assert harness.parts.local_changes.rejected == 30

    lines = [
        fields_of(record) for record in caplog.records if "was rejected" in record.getMessage()
    ]
    assert len(lines) == 3
    assert lines[0]["peer"].startswith("10.0.0.0:")
    assert "not on the loopback" in lines[0]["reason"]
    assert [line["requests"] for line in lines] == [1, 10, 10]


def test_endpoint_with_the_host_name_of_in_process_requests_is_not_local() -> None:
    assert is_local(IN_PROCESS)
    assert not is_local(Endpoint(IN_PROCESS.host, IN_PROCESS.port))
