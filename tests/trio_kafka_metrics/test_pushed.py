"""Metrics that clients have pushed, in a scrape."""

from trio.testing import MockClock

from tests.apis.test_k72_push_telemetry import subscribed
from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka_metrics.pushed import read_pushed


async def test_pushed_metrics_are_series_with_the_client(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        push = await subscribed(plugin_harness.served)
        await plugin_harness.served.ask(push, 0)

        values = read(read_pushed, plugin_harness.parts)

    (series,) = [name for name in values if name.startswith("trio_kafka_client_events_total")]
    assert "metric=org.a" in series
    assert "attributes=node_id=1" in series
    assert values[series] == 7.0
    assert values["trio_kafka_telemetry_clients"] == 1
    assert values["trio_kafka_telemetry_series"] == 1
