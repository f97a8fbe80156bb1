"""PushTelemetry: what a client pushes is decoded, and shown."""

from trio.testing import MockClock

from tests.apis.configs import METRICS, SET, alter
from tests.apis.kit import broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.protocol.messages.k72_push_telemetry import PushTelemetryRequest
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
)
from trio_kafka.records.compression import Codec, compress
from trio_kafka.telemetry import otlp
from trio_kafka.telemetry.metric import Point
from trio_kafka.testing.broker import ServedBroker

DATA = otlp.encode(
    [Point(name="org.a", value=7.0, attributes={"node_id": "1"}, time_s=5.0, is_sum=True)],
    {"group_id": "g"},
)


async def subscribed(served: ServedBroker) -> PushTelemetryRequest:
    """A push that is valid."""
    await alter(served, METRICS, "mine", ("metrics", SET, "*"), ("interval.ms", SET, "1000"))
    answer = await served.ask(GetTelemetrySubscriptionsRequest(bytes(16)), 0)
    return PushTelemetryRequest(
        client_instance_id=answer.client_instance_id,
        subscription_id=answer.subscription_id,
        compression_type=int(Codec.ZSTD),
        metrics=compress(Codec.ZSTD, DATA),
    )


async def test_pushed_metrics_are_described(autojump_clock: MockClock) -> None:
    async with broker() as served:
        push = await subscribed(served)
        assert (await served.ask(push, 0)).error_code == 0
        (client,) = (await served.ask(DescribeClientMetricsRequest(), 0)).clients

    (metric,) = client.metrics
    assert (metric.name, metric.value, metric.is_total) == ("org.a", 7.0, True)
    assert [(label.name, label.value) for label in metric.labels] == [("node_id", "1")]
    assert (client.pushes, client.instance_id) == (1, push.client_instance_id)
    assert ("group_id", "g") in [(label.name, label.value) for label in client.labels]


async def test_push_with_another_subscription_is_rejected(autojump_clock: MockClock) -> None:
    async with broker() as served:
        push = await subscribed(served)
        push.subscription_id += 1
        answer = await served.ask(push, 0)

    assert answer.error_code == ErrorCode.UNKNOWN_SUBSCRIPTION_ID


async def test_bytes_that_are_no_metrics_are_an_invalid_record(autojump_clock: MockClock) -> None:
    async with broker() as served:
        push = await subscribed(served)
        push.metrics = b"garbage"
        answer = await served.ask(push, 0)

    assert answer.error_code == ErrorCode.INVALID_RECORD
