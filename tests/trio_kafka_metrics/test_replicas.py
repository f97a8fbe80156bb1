import pytest
from trio.testing import MockClock

from tests.trio_kafka_metrics.kit import harness, read
from trio_kafka.errors import LogDirError
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka_metrics.replicas import read_replicas


async def test_replicas_and_logs_are_exported_per_partition_and_in_total(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 3, {"min.insync.replicas": "1"})
        partition = plugin_harness.parts.replicas.partition("t", 2)
        partition.isr = ()
        plugin_harness.parts.replicas.partition("t", 1).fail(LogDirError("/data", "broken"))

        result = read(read_replicas, plugin_harness.parts)

    manager = "kafka_server_replicamanager_"
    assert result[f"{manager}partitioncount"] == result[f"{manager}leadercount"] == 3
    assert result[f"{manager}offlinereplicacount"] == 1
    assert result[f"{manager}underreplicatedpartitions"] == 1
    assert result[f"{manager}underminisrpartitioncount"] == 1
    assert result[f"{manager}atminisrpartitioncount"] == 2
    place = "{partition=2,topic=t}"
    assert result[f"kafka_cluster_partition_underreplicated{place}"] == 1
    assert result[f"kafka_cluster_partition_insyncreplicascount{place}"] == 0
    assert result[f"kafka_cluster_partition_replicascount{place}"] == 1
    assert result[f"kafka_cluster_partition_underminisr{place}"] == 1
    assert result[f"kafka_cluster_partition_atminisr{place}"] == 0
    assert result[f"kafka_log_log_numlogsegments{place}"] == 1
    assert result["kafka_log_log_logendoffset{partition=0,topic=__cluster_metadata}"] > 3
    assert result["kafka_log_logmanager_logdirectoryoffline{logDirectory=/data}"] == 0


async def test_number_of_delayed_operations_is_exported_per_purgatory(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        purgatories = plugin_harness.parts[Purgatories]
        purgatories.fetch.watchers.update({"a": {"x": None, "y": None}, "b": {"x": None}})
        purgatories.produce._expired = 4

        result = read(read_replicas, plugin_harness.parts)
        purgatories.fetch.watchers.clear()

    size = "kafka_server_delayedoperationpurgatory_purgatorysize"
    assert result[f"{size}{{delayedOperation=Fetch}}"] == 3
    assert result[f"{size}{{delayedOperation=Produce}}"] == 0
    assert result["kafka_server_delayedproducemetrics_expires_total"] == 4
    assert result["kafka_server_delayedfetchmetrics_expires_total{fetcherType=consumer}"] == 0


async def test_series_above_the_limit_are_omitted_while_totals_count_all_partitions(
    autojump_clock: MockClock,
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", 5)

        result = read(read_replicas, plugin_harness.parts, most=20)

    assert result["dropped"] == 3 * 10 + 4
    assert result["kafka_server_replicamanager_partitioncount"] == 5
    shown = [name for name in result if name.startswith("kafka_log_log_size")]
    assert len(shown) == 2


@pytest.mark.parametrize(("partitions", "steps"), [(63, 2), (64, 3), (200, 5)])
async def test_replicas_are_read_in_steps_of_64_partitions(
    autojump_clock: MockClock, partitions: int, steps: int
) -> None:
    async with harness() as plugin_harness:
        await plugin_harness.served.create_topic("t", partitions)

        assert read(read_replicas, plugin_harness.parts)["steps"] == steps
