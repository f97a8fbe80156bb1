"""GetTelemetrySubscriptions: what a client is to push, by settings that change."""

import pytest
from trio.testing import MockClock

from tests.apis.configs import DELETE, METRICS, SET, alter
from tests.apis.kit import broker
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.telemetry.client_telemetry import ClientTelemetry

NEW = GetTelemetrySubscriptionsRequest(bytes(16))


async def test_client_without_a_subscription_pushes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as served:
        answer = await served.ask(NEW, 0)

    assert answer.error_code == 0
    assert answer.client_instance_id != bytes(16)
    assert (answer.requested_metrics, answer.push_interval_ms) == ([], 300_000)
    assert answer.accepted_compression_types == [4, 3, 1, 2]
    assert (answer.telemetry_max_bytes, answer.delta_temporality) == (1 << 20, True)


async def test_subscription_is_in_force_when_its_change_is_answered(
    autojump_clock: MockClock,
) -> None:
    async with broker({"telemetry.max.bytes": "5000"}) as served:
        first = await served.ask(NEW, 0)
        changes = ("metrics", SET, "org.apache.kafka.producer.,x"), ("interval.ms", SET, "1000")
        assert await alter(served, METRICS, "mine", *changes) == (0, None)
        second = await served.ask(GetTelemetrySubscriptionsRequest(first.client_instance_id), 0)
        await alter(served, METRICS, "mine", ("metrics", DELETE, None))
        third = await served.ask(GetTelemetrySubscriptionsRequest(first.client_instance_id), 0)

    assert second.client_instance_id == first.client_instance_id
    assert second.requested_metrics == ["org.apache.kafka.producer.", "x"]
    assert (second.push_interval_ms, second.telemetry_max_bytes) == (1000, 5000)
    assert (third.error_code, third.requested_metrics) == (0, [])
    assert len({answer.subscription_id for answer in (first, second, third)}) == 3


async def test_apis_of_telemetry_are_listed_while_there_is_a_subscription(
    autojump_clock: MockClock,
) -> None:
    listed = []
    async with broker() as served:
        for change in (None, ("metrics", SET, "*"), ("metrics", DELETE, None)):
            if change is not None:
                await alter(served, METRICS, "mine", change)
            answer = await served.ask(ApiVersionsRequest("trio", "1.0"), 4)
            listed.append({71, 72} & {row.api_key for row in answer.api_keys})

    assert listed == [set(), {71, 72}, set()]


async def test_unrelated_setting_does_not_end_the_interval(autojump_clock: MockClock) -> None:
    async with broker() as served:
        first = await served.ask(NEW, 0)
        await alter(served, 32, "g", ("consumer.session.timeout.ms", SET, "50000"))
        again = await served.ask(GetTelemetrySubscriptionsRequest(first.client_instance_id), 0)

    assert again.error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED


@pytest.mark.parametrize(
    ("match", "matches"),
    [
        ("client_software_name=my-app", True),
        ("client_software_version=1\\..*", True),
        ("client_source_address=.+,client_source_port=\\d+", True),
        ("client_software_name=other", False),
    ],
)
async def test_subscription_chooses_clients_by_what_the_broker_knows_of_them(
    autojump_clock: MockClock, match: str, matches: bool
) -> None:
    async with broker() as served:
        await alter(served, METRICS, "mine", ("metrics", SET, "*"), ("match", SET, match))
        await served.ask(ApiVersionsRequest("my-app", "1.2"), 3)
        answer = await served.ask(NEW, 0)

    assert answer.requested_metrics == (["*"] if matches else [])


async def test_a_long_client_id_is_not_kept_for_each_instance(autojump_clock: MockClock) -> None:
    async with broker() as served:
        served.client.client_id = "c" * 30_000
        for _ in range(3):
            assert (await served.ask(NEW, 0)).error_code == 0
        instances = served.broker.parts[ClientTelemetry].instances

        assert [len(instance.labels["client_id"]) < 400 for instance in instances] == [True] * 3
