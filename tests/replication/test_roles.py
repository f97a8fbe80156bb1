"""The role of a replica is one value, which metadata, log and directory decide."""

import pytest

from tests.replication.kit import (
    AT,
    ME,
    PEER,
    TOPIC_ID,
    batch,
    new_partition,
    new_purgatories,
    state,
)
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.model import TopicPartition
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Deleted, Following, Leading, Offline

BROKEN = LogDirError("/data", "broken")


def error_of(partition: Partition) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        partition.local_log()
    return caught.value.code


def test_replica_without_a_log_is_offline() -> None:
    partition = Partition(TOPIC_ID, AT, ME, state(1), purgatories=new_purgatories())

    assert isinstance(partition.role, Offline)
    assert partition.log is None
    assert error_of(partition) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_leader_becomes_a_follower_and_a_leader_again_with_the_same_log(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    log = partition.log
    append(partition, batch(3), acks=1)
    first = partition.role

    partition.update(state(1, 2, leader=2, epoch=1))
    following = partition.role
    error = error_of(partition)
    partition.update(state(1, 2, epoch=2))

    assert isinstance(first, Leading)
    assert isinstance(following, Following)
    assert error is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert isinstance(partition.role, Leading)
    assert partition.role.epoch_start == 3
    assert partition.leading is partition.log is log


async def test_leader_keeps_its_role_and_its_followers_while_the_epoch_stays(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    partition.follower_fetched(PEER, 0)
    role = partition.role

    partition.update(state(1, replicas=(1, 2)))

    assert partition.role is role
    assert role.follower_ends == {PEER: 0}


async def test_offline_replica_stays_offline_until_a_log_is_opened(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    log = partition.log

    partition.fail(BROKEN)
    partition.update(state(1, 2, epoch=1))

    assert isinstance(partition.role, Offline)
    assert partition.role.reason is BROKEN
    assert partition.leading is None
    assert partition.log is log  # its figures stay
    partition.open(log)
    assert isinstance(partition.role, Leading)


async def test_deleted_replica_gets_no_other_role(world) -> None:
    partition, _ = new_partition(world)
    partition.delete()

    partition.fail(BROKEN)
    partition.update(state(1, epoch=1))

    assert isinstance(partition.role, Deleted)
    assert error_of(partition) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_fetch_of_a_follower_counts_for_a_leader_only(world) -> None:
    partition, marks = new_partition(world, 1, 2, leader=2)
    marks.clear()

    partition.follower_fetched(PEER, 5)

    assert marks == []
    assert isinstance(partition.role, Following)


async def test_move_changes_the_log_and_not_the_role(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    other, _ = new_partition(world, at=TopicPartition("future", 0))
    role = partition.role
    role.follower_ends[PEER] = 7

    partition.replace_log(other.log)

    assert partition.role is role
    assert partition.log is other.log
    assert role.follower_ends == {PEER: 7}
