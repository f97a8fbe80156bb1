from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.protocol.messages.k18_api_versions import ApiVersionsRequest
from trio_kafka_metrics.collection import catalogue
from trio_kafka_metrics.native_metrics import read_native


async def test_event_loop_tasks_and_request_hops_are_exported(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.ask(ApiVersionsRequest("a", "1"))

        result = read(read_native, plugin_harness.parts)

    of_api = "{api=ApiVersions,hop=total,plane=data}"
    assert result[f"trio_kafka_request_hop_seconds_count{of_api}"] == 1
    assert result["trio_kafka_task_scheduled_seconds_count{plane=data}"] > 0
    assert result["trio_kafka_tasks"] > 10
    assert "trio_kafka_loop_lag_seconds{plane=data}" in result
    assert result["trio_kafka_throttled_connections{quota=Produce}"] == 0


async def test_throttling_is_exported_per_quota_without_client_names(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        accounts = plugin_harness.parts.quotas.quotas.fetch.accounts
        now_ms = plugin_harness.parts.quotas.quotas.now_ms()
        for user, wait_ms in (("a", 100), ("b", 700)):
            accounts.set((user, ""), 1.0)
            accounts.of(user, "secret-id", now_ms).waited.record(wait_ms, now_ms)

        result = read(read_native, plugin_harness.parts)

    assert result["trio_kafka_throttle_time_seconds_max{quota=Fetch}"] == 0.7
    assert result["trio_kafka_quota_accounts{quota=Fetch}"] == 2
    assert not any("secret-id" in name for name in result)


async def test_counters_of_plugins_are_exported_apart_from_counters_of_the_broker(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        plugin_harness.counters.add("refusals", 3, reason="a b")
        plugin_harness.counters.add("refusals", 4, plugin="x")
        plugin_harness.counters.add("loop passes", 5, plugin="x")
        plugin_harness.counters.add("loop-passes", 6, plugin="x")

        result = read(read_native, plugin_harness.parts)

    assert result["trio_kafka_refusals_total{reason=a b}"] == 3
    assert result["trio_kafka_plugin_refusals_total{plugin=x}"] == 4
    assert result["trio_kafka_plugin_loop_passes_total{plugin=x}"] == 11


async def test_no_broker_counter_has_the_name_of_a_metric(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        counters = {f"trio_kafka_{counter.name}_total" for counter in plugin_harness.counters}

    assert counters & {metric.name for metric in catalogue()} == set()
