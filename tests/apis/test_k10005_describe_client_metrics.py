"""DescribeClientMetrics: selection by client and by prefix."""

import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.test_k72_push_telemetry import subscribed
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
)


async def test_clients_and_metrics_are_selected(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.ask(await subscribed(served), 0)
        (client,) = (await served.ask(DescribeClientMetricsRequest(), 0)).clients
        other = await served.ask(DescribeClientMetricsRequest(client_id="other"), 0)
        (same,) = (
            await served.ask(DescribeClientMetricsRequest(client.client_id, prefix="org.b"), 0)
        ).clients

    assert other.clients == []
    assert same.metrics == []
    assert len(client.metrics) == 1


async def test_client_that_is_silent_for_long_is_forgotten(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.ask(await subscribed(served), 0)
        await trio.sleep(61)
        answer = await served.ask(DescribeClientMetricsRequest(), 0)

    assert answer.clients == []
