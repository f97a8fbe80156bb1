"""AlterReplicaLogDirs for one replica: what is checked, and what is noted for later."""

import pytest

from tests.replication.kit import open_cluster, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.model import TopicPartition
from trio_kafka.replication.moves import alter_log_dirs
from trio_kafka.replication.moves.alter_log_dirs import alter_log_dir

AT = TopicPartition("t", 0)


def refused(cluster, at: TopicPartition, path: str) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        alter_log_dir(cluster.replicas, cluster.replication.moves, at, path=path)
    return caught.value.code


async def test_unknown_target_directory_is_refused(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(1)})

    assert refused(cluster, AT, "/c") is ErrorCode.LOG_DIR_NOT_FOUND
    assert refused(cluster, AT, "a") is ErrorCode.LOG_DIR_NOT_FOUND


async def test_preferred_directory_of_a_future_replica_is_kept_until_its_creation(
    world, autojump_clock
) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b"))
    cluster.change(t={0: state(2, leader=2)})

    assert refused(cluster, AT, "/b") is ErrorCode.REPLICA_NOT_AVAILABLE
    assert cluster.logs.preferred == {AT: "/b"}
    cluster.change(t={0: state(2, 1, leader=2)})
    assert cluster.logs.directory_of(AT).path == "/b"
    assert cluster.logs.preferred == {}


async def test_a_replica_in_an_offline_directory_does_not_move(world, autojump_clock) -> None:
    cluster = await open_cluster(world, paths=("/a", "/b", "/c"))
    cluster.change(t={0: state(1)})
    here = cluster.logs.directory_of(AT)
    others = [directory.path for directory in cluster.logs.directories if directory is not here]
    here.fail(LogDirError(here.path, "broken"))

    assert refused(cluster, AT, others[0]) is ErrorCode.KAFKA_STORAGE_ERROR
    assert refused(cluster, AT, here.path) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_number_of_preferred_directories_is_limited(
    world, autojump_clock, monkeypatch
) -> None:
    monkeypatch.setattr(alter_log_dirs, "MOST_PREFERRED", 3)
    cluster = await open_cluster(world, paths=("/a", "/b"))

    for number in range(5):
        refused(cluster, TopicPartition("new", number), "/b")

    assert [at.partition for at in cluster.logs.preferred] == [2, 3, 4]
