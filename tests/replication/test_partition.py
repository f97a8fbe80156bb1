import pytest

from tests.replication.kit import PEER, batch, new_partition, state
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.durability.sync import sync
from trio_kafka.model import NodeId
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.settings import PartitionSettings


def refused(partition: Partition, epoch: int = -1, **arguments) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        partition.local_log(epoch, **arguments)
    return caught.value.code


async def test_leader_returns_its_log(world) -> None:
    partition, _ = new_partition(world, 1, epoch=5)

    assert partition.is_leader
    assert partition.local_log() is partition.log
    assert partition.local_log(5) is partition.log


async def test_past_leader_epochs_are_fenced_and_future_epochs_unknown(world) -> None:
    partition, _ = new_partition(world, 1, epoch=5)

    assert refused(partition, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert refused(partition, 6) is ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_follower_returns_its_log_only_if_the_leader_is_not_required(world) -> None:
    partition, _ = new_partition(world, 1, 2, leader=2, epoch=5)

    assert refused(partition) is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert refused(partition, 4) is ErrorCode.FENCED_LEADER_EPOCH
    assert partition.local_log(leader_only=False) is partition.log


async def test_partition_of_a_failed_directory_has_a_storage_error_until_its_log_is_opened(
    world,
) -> None:
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


async def test_append_to_a_single_replica_is_committed_at_once(world) -> None:
    partition, _ = new_partition(world, 1)

    append(partition, batch(3), acks=1)

    assert partition.log.high_watermark == 3


async def test_append_that_needs_a_flush_is_committed_after_the_sync(world) -> None:
    partition, marks = new_partition(world, 1, flush_messages=1)
    append(partition, batch(3), acks=1)
    assert partition.log.high_watermark == 0
    marks.clear()

    await sync(partition.log)

    assert partition.log.high_watermark == 3
    assert marks == [partition]


async def test_high_watermark_does_not_fall_when_a_flush_becomes_due(world) -> None:
    partition, _ = new_partition(world, 1, flush_messages=3)
    append(partition, batch(2), acks=1)
    assert partition.log.high_watermark == 2

    append(partition, batch(2), acks=1)

    assert partition.log.high_watermark == 2
    await sync(partition.log)
    assert partition.log.high_watermark == 4


async def test_high_watermark_does_not_rise_until_the_leader_has_synced(world) -> None:
    partition, _ = new_partition(world, 1, 2, flush_messages=1)
    append(partition, batch(3), acks=1)

    partition.follower_fetched(PEER, 3)

    assert partition.log.high_watermark == 0
    await sync(partition.log)
    assert partition.log.high_watermark == 3


async def test_high_watermark_rises_with_the_fetches_of_followers_in_sync(world) -> None:
    partition, marks = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)
    assert partition.log.high_watermark == 0
    marks.clear()

    partition.follower_fetched(PEER, 2)

    assert partition.log.high_watermark == 2
    assert marks == [partition]


async def test_shrunk_isr_commits_up_to_the_end_offset_of_the_leader(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)

    partition.update(state(1, replicas=(1, 2)))

    assert partition.log.high_watermark == 3


async def test_high_watermark_does_not_rise_below_min_insync_replicas(world) -> None:
    partition, _ = new_partition(world, 1, 2, settings=PartitionSettings(min_insync_replicas=2))
    append(partition, batch(3), acks=1)

    partition.update(state(1, replicas=(1, 2)))

    assert partition.log.high_watermark == 0


async def test_new_leader_epoch_forgets_the_end_offsets_of_followers(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append(partition, batch(3), acks=1)
    partition.follower_fetched(PEER, 2)

    partition.update(state(1, 2, epoch=1))

    assert partition.role.follower_ends == {}
    assert partition.role.epoch_start == 3
    assert partition.log.high_watermark == 2


async def test_fetch_of_a_broker_without_a_replica_is_refused(world) -> None:
    partition, _ = new_partition(world, 1, 2)

    with pytest.raises(KafkaError) as caught:
        partition.follower_fetched(NodeId(9), 0)
    assert caught.value.code is ErrorCode.UNKNOWN_LEADER_EPOCH


async def test_figures_show_leader_isr_epoch_and_end_offset(world) -> None:
    partition, _ = new_partition(world, 1, 2, epoch=3)

    figures = partition.figures()

    assert figures["leader"] == 1
    assert figures["isr"] == "1,2"
    assert figures["leader_epoch"] == 3
    assert figures["end"] == 0
    assert figures["offline"] is False
