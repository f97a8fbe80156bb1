import pytest
from attrs import evolve

from tests.replication.kit import ME, batch, new_partition, open_cluster, state
from trio_kafka.errors import LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.files.checkpoints import read_file
from trio_kafka.log.files.partition_metadata import NAME, encode, parse_id
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.moves.placement import log_of
from trio_kafka.testing.simulation import fault_on

OTHER = TopicPartition("other", 0)


async def a_replica(world):
    """Of a topic that no log of the cluster belongs to."""
    partition, _ = new_partition(world, 1, at=OTHER)
    return partition


async def test_existing_log_is_reused_with_the_current_settings(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    (partition,) = cluster.replicas.partitions
    append(partition, batch(3), acks=1)
    config = LogConfig(segment_bytes=1234)

    log = log_of(cluster.logs, partition, state(1), config, new=False)

    assert log is partition.log
    assert (log.end_offset, log.config) == (3, config)


@pytest.mark.parametrize("path", ["/a", "/b"])
async def test_new_log_is_created_in_the_directory_named_by_the_metadata(world, path: str) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    (directory,) = (candidate for candidate in cluster.logs.directories if candidate.path == path)
    partition_state = evolve(state(1), directories=(parse_id(directory.properties.directory_id),))

    log = log_of(cluster.logs, await a_replica(world), partition_state, LogConfig(), new=True)

    assert log.directory.path.startswith(f"{path}/")
    assert log.unsynced.new


async def test_existing_log_is_not_recreated_while_a_log_directory_is_offline(
    world, autojump_clock
) -> None:
    world.universe.fault = fault_on("lock", OSError(5, "EIO"), "/b")
    cluster = await open_cluster(world, paths=("/a", "/b"))
    partition = await a_replica(world)

    with pytest.raises(LogDirError, match="/b"):
        log_of(cluster.logs, partition, state(ME), LogConfig(), new=False)

    assert log_of(cluster.logs, partition, state(ME), LogConfig(), new=True).end_offset == 0


async def test_a_failed_log_is_refused(world) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    (partition,) = cluster.replicas.partitions
    partition.log.failed = LogDirError("/data", "EIO")

    with pytest.raises(LogDirError, match="EIO"):
        log_of(cluster.logs, partition, state(1), LogConfig(), new=False)


async def test_missing_partition_metadata_file_of_a_log_is_written_again(
    world, autojump_clock
) -> None:
    cluster = await open_cluster(world)
    cluster.change(t={0: state(1)})
    (partition,) = cluster.replicas.partitions
    append(partition, batch(3), acks=1)
    await cluster.logs.close()
    await world.directory("/data/t-0").unlink(NAME)
    again = await open_cluster(world)
    log = again.logs.get(partition.at)
    assert log.topic_id is None

    assert log_of(again.logs, partition, state(1), LogConfig(), new=False) is log
    await sync(log)

    assert await read_file(log.directory, NAME) == encode(partition.topic_id)
