import pytest

from tests.replication.kit import PEER, batch, new_partition, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.durability.sync import sync
from trio_kafka.model import NodeId
from trio_kafka.replication.append import append
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.settings import PartitionSettings


def refused(partition: Partition, epoch: int = -1, **arguments) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        partition.local_log(epoch, **arguments)
    return caught.value.code


async def test_the_leader_has_its_log(world) -> None:
    partition, _ = new_partition(world, 1, epoch=5)

    assert partition.is_leader
    assert partition.local_log() is partition.log
    assert partition.local_log(5) is partition.log


async def test_leader_epochs_of_the_past_are_fenced_and_of_the_future_unknown(world) -> None:
    partition, _ = new_partition(world, 1, epoch=5)

    assert refused(partition, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert refused(partition, 6) is ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_a_follower_is_not_the_leader_but_has_a_log(world) -> None:
    partition, _ = new_partition(world, 1, 2, leader=2, epoch=5)

    assert refused(partition) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused(partition, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert partition.local_log(leader_only=False) is partition.log


async def test_a_failed_directory_is_a_storage_error_until_the_log_is_back(world) -> None:
    partition, marks = new_partition(world, 1)
    log = partition.log

    partition.fail(LogDirError("/t-0", "EIO"))

    assert refused(partition) is ErrorCode.KAFKA_STORAGE_ERROR
    assert marks == [partition, partition.loss]
    partition.open(log)
    assert partition.local_log() is log


async def test_a_deleted_partition_is_unknown(world) -> None:
    partition, marks = new_partition(world, 1)

    partition.delete()

    assert refused(partition) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert marks == [partition, partition.loss]


async def test_alone_in_sync_everything_is_committed_at_once(world) -> None:
    partition, _ = new_partition(world, 1)

    append(partition, batch(3), acks=1)

    assert partition.log.high_watermark == 3


async def test_what_must_be_durable_is_committed_and_told_when_it_is(world) -> None:
    partition, marks = new_partition(world, 1, flush_messages=1)
    append(partition, batch(3), acks=1)
    assert partition.log.high_watermark == 0
    marks.clear()

    await sync(partition.log)

    assert partition.log.high_watermark == 3
    assert marks == [partition]


async def test_what_was_committed_stays_so_when_a_flush_falls_due(world) -> None:
    partition, _ = new_partition(world, 1, flush_messages=3)
    append(partition, batch(2), acks=1)
    assert partition.log.high_watermark == 2

    append(partition, batch(2), acks=1)

    assert partition.log.high_watermark == 2
    await sync(partition.log)
    assert partition.log.high_watermark == 4


async def test_a_leader_that_has_yet_to_sync_holds_the_high_watermark_back(world) -> None:
    partition, _ = new_partition(world, 1, 2, flush_messages=1)
    append(partition, batch(3), acks=1)

    partition.follower_fetched(PEER, 3)

    assert partition.log.high_watermark == 0
    await sync(partition.log)
    assert partition.log.high_watermark == 3


async def test_followers_in_sync_hold_the_high_watermark_back(world) -> None:
    partition, marks = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)
    assert partition.log.high_watermark == 0
    marks.clear()

    partition.follower_fetched(PEER, 2)

    assert partition.log.high_watermark == 2
    assert marks == [partition]


async def test_a_smaller_in_sync_set_commits_what_the_leader_has(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)

    partition.update(state(1, replicas=(1, 2)))

    assert partition.log.high_watermark == 3


async def test_nothing_is_committed_below_the_minimum(world) -> None:
    partition, _ = new_partition(world, 1, 2, settings=PartitionSettings(min_insync_replicas=2))
    append(partition, batch(3), acks=1)

    partition.update(state(1, replicas=(1, 2)))

    assert partition.log.high_watermark == 0


async def test_a_new_epoch_of_this_leader_forgets_where_followers_were(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)
    partition.follower_fetched(PEER, 2)

    partition.update(state(1, 2, epoch=1))

    assert partition.follower_ends == {}
    assert partition.epoch_start == 3
    assert partition.log.high_watermark == 2


async def test_a_broker_without_a_replica_is_no_follower(world) -> None:
    partition, _ = new_partition(world, 1, 2)

    with pytest.raises(KafkaError) as caught:
        partition.follower_fetched(NodeId(9), 0)
    assert caught.value.code is ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_figures_tell_leader_set_and_log(world) -> None:
    partition, _ = new_partition(world, 1, 2, epoch=3)

    figures = partition.figures()

    assert figures["leader"] == 1
    assert figures["isr"] == "1,2"
    assert figures["leader_epoch"] == 3
    assert figures["end"] == 0
    assert figures["offline"] is False
