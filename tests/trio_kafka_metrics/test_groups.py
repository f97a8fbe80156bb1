"""Metrics of groups: states, and lag by the names that dashboards ask for."""

from trio.testing import MockClock

from tests.apis.kit import write
from tests.apis.test_k09_offset_fetch import commit
from tests.trio_kafka_metrics.kit import harness, read, shown
from trio_kafka.replication.roles import Following
from trio_kafka_metrics.groups import read_groups
from trio_kafka_metrics.metric_values import MetricValues


async def test_offsets_and_lag_of_groups_are_exported(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 2)
        await plugin_harness.served.serve_groups("g", "h")
        await write(plugin_harness.served, "t", b"a", b"b", b"c")
        await commit(plugin_harness.served, "g", "t", 0, 1)
        await commit(plugin_harness.served, "g", "t", 1, 0)
        await commit(plugin_harness.served, "h", "t", 0, 3)

        result = read(read_groups, plugin_harness.parts)

    assert result["trio_kafka_group_offsets"] == 3
    assert result["trio_kafka_groups{state=Empty,type=classic}"] == 2
    assert result["trio_kafka_groups{state=Empty,type=consumer}"] == 0
    assert result["trio_kafka_group_coordinator_partitions{state=active}"] == 50
    place = "{consumergroup=g,partition=0,topic=t}"
    assert result[f"kafka_consumergroup_current_offset{place}"] == 1
    assert result[f"kafka_consumergroup_lag{place}"] == 2
    assert result["kafka_consumergroup_lag{consumergroup=h,partition=0,topic=t}"] == 0
    assert result["kafka_consumergroup_lag_sum{consumergroup=g,topic=t}"] == 2
    assert result["kafka_consumergroup_current_offset_sum{consumergroup=g,topic=t}"] == 1
    assert result["kafka_consumergroup_members{consumergroup=g}"] == 0


async def test_partition_without_a_committed_offset_has_no_lag(autojump_clock: MockClock) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 2)
        await plugin_harness.served.serve_groups("g", "none")
        await write(plugin_harness.served, "t", b"a", b"b", b"c")
        await commit(plugin_harness.served, "g", "t", 0, 1)
        await commit(plugin_harness.served, "g", "t", 1, -1)
        await commit(plugin_harness.served, "none", "t", 0, -1)

        result = read(read_groups, plugin_harness.parts)

    assert result["kafka_consumergroup_lag_sum{consumergroup=g,topic=t}"] == 2
    assert result["kafka_consumergroup_current_offset_sum{consumergroup=g,topic=t}"] == 1
    assert not [name for name in result if "consumergroup=g,partition=1" in name]
    assert not [name for name in result if "consumergroup=none," in name]


async def test_topic_that_another_broker_leads_has_offsets_and_no_sum_of_lags(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        await plugin_harness.served.serve_groups("g")
        await commit(plugin_harness.served, "g", "t", 0, 1)
        partition = plugin_harness.served.broker.replicas.partition("t", 0)
        partition.role = Following(partition.log)

        result = read(read_groups, plugin_harness.parts)

    assert result["kafka_consumergroup_current_offset_sum{consumergroup=g,topic=t}"] == 1
    assert not [name for name in result if name.startswith("kafka_consumergroup_lag")]


async def test_long_group_ids_become_short_distinct_labels(autojump_clock: MockClock) -> None:
    names = ["g" * 30_000 + end for end in ("1", "2")]
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        await plugin_harness.served.serve_groups(*names)
        for name in names:
            await commit(plugin_harness.served, name, "t", 0, 0)

        result = read(read_groups, plugin_harness.parts)

    lags = [name for name in result if name.startswith("kafka_consumergroup_lag{")]
    assert len(lags) == 2
    assert max(map(len, result)) < 500


async def test_groups_above_the_series_limit_are_still_counted(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        names = [f"g{number}" for number in range(5)]
        await plugin_harness.served.serve_groups(*names)
        for name in names:
            await commit(plugin_harness.served, name, "t", 0, 0)

        result = read(read_groups, plugin_harness.parts, most=7)

    assert result["trio_kafka_groups{state=Empty,type=classic}"] == 5
    assert sum(name.startswith("kafka_consumergroup_members") for name in result) <= 5
    assert result["dropped"] == 5 * 5 - 7


async def test_shard_that_stops_during_a_collection_is_not_read_further(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t")
        runtime = plugin_harness.served.broker.groups.runtime
        await plugin_harness.served.serve_groups("g0")
        names = [
            name
            for name in (f"g{number}" for number in range(5000))
            if plugin_harness.served.broker.groups.topic.partition_of(name)
            == plugin_harness.served.broker.groups.topic.partition_of("g0")
        ][:50]
        for name in names:
            await commit(plugin_harness.served, name, "t", 0, 0)
        collected = MetricValues(10_000)

        look = read_groups(plugin_harness.parts, collected)
        next(look)
        runtime.stop()
        for _ in look:
            pass

    result = shown(collected.families.values())
    assert 0 < result["trio_kafka_groups{state=Empty,type=classic}"] < len(names)
    assert result["trio_kafka_group_offsets"] == 0
