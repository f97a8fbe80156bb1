"""A follower cuts its log to what it has in common with its leader's."""

import pytest

from tests.replication.follower.test_append import fetched, new_follower, stored
from tests.replication.kit import new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.replication.follower.append import append_fetched
from trio_kafka.replication.follower.truncation import Truncation, truncate, truncation_of
from trio_kafka.replication.leader.read import EpochEnd
from trio_kafka.replication.partition import Partition

UNKNOWN = EpochEnd(-1, -1)


def follower(world, *epochs: int, high_watermark: int = 0, **config) -> Partition:
    """A follower with a batch of one record of each of these epochs."""
    partition, marks = new_follower(world, **config)
    batches = [stored(offset, epoch) for offset, epoch in enumerate(epochs)]
    append_fetched(partition, fetched(*batches, high_watermark=high_watermark))
    marks.clear()
    return partition


@pytest.mark.parametrize(
    ("leader", "offset", "agrees"),
    [
        (EpochEnd(2, 3), 3, True),  # the leader has less of the epoch than the follower
        (EpochEnd(2, 9), 4, True),  # and here more
        (EpochEnd(3, 9), 5, True),  # all of the log
        (EpochEnd(1, 1), 1, False),  # the follower has epochs 0 and 2, and not 1
        (EpochEnd(-1, 2), 2, True),  # a leader without epochs
        (EpochEnd(-1, 9), 5, True),
        (UNKNOWN, 5, True),
    ],
)
async def test_log_is_cut_where_the_epoch_ended_in_both_logs(
    world, leader: EpochEnd, offset: int, agrees: bool
) -> None:
    log = follower(world, 0, 2, 2, 2, 3, high_watermark=1).log

    assert truncation_of(log, leader) == Truncation(offset=offset, agrees=agrees)


async def test_log_without_epochs_keeps_what_is_committed_if_the_leader_knows_nothing(
    world,
) -> None:
    log = follower(world, -1, -1, -1, high_watermark=2).log

    assert truncation_of(log, UNKNOWN) == Truncation(offset=2, agrees=True)
    assert truncation_of(log, EpochEnd(3, 1)) == Truncation(offset=1, agrees=True)


async def test_unclean_changes_of_leaders_are_cut_epoch_by_epoch(world, autojump_clock) -> None:
    """KIP-279: each log has epochs that the other does not know."""
    partition = follower(world, 0, 0, 1, 1)
    leader = follower(world, 0, 2, 2, at=TopicPartition("leader", 0))
    answer = EpochEnd(*leader.log.epoch_end_offset(partition.log.leader_epoch))

    assert await truncate(partition, answer, 3)

    assert partition.log.end_offset == 1
    assert partition.log.epochs.rows == [(0, 0)]


async def test_follower_that_misses_the_epoch_of_the_leader_asks_again(
    world, autojump_clock
) -> None:
    partition = follower(world, 0, 0, 2)

    assert not await truncate(partition, EpochEnd(1, 2), 3)
    assert partition.log.end_offset == 2
    assert await truncate(partition, EpochEnd(0, 1), 3)
    assert partition.log.end_offset == 1


async def test_cut_lowers_the_high_watermark_and_wakes_those_that_wait(
    world, autojump_clock
) -> None:
    partition = follower(world, 0, 2, 2, high_watermark=3)
    marks = partition.changed

    await truncate(partition, EpochEnd(0, 1), 3)

    assert (partition.log.high_watermark, partition.log.end_offset) == (1, 1)
    assert marks == [partition]


async def test_leader_and_follower_of_another_epoch_cut_nothing(world, autojump_clock) -> None:
    leading, _ = new_partition(world, 1, 2, epoch=3, at=TopicPartition("leader", 0))
    following = follower(world, 0)

    for partition, epoch, code in (
        (leading, 3, ErrorCode.NOT_LEADER_OR_FOLLOWER),
        (following, 2, ErrorCode.FENCED_LEADER_EPOCH),
    ):
        with pytest.raises(KafkaError) as caught:
            await truncate(partition, EpochEnd(0, 0), epoch)
        assert caught.value.code is code
    assert following.log.end_offset == 1
