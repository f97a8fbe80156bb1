"""Epochs of a leader, with batches and without."""

import pytest

from tests.replication.kit import batch, new_partition, state
from trio_kafka.errors import KafkaError
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.epochs import end_of_epoch, first_epoch
from trio_kafka.replication.leader.offsets import EARLIEST, epoch_end, special_offset
from trio_kafka.replication.leader.read import EpochEnd, Isolation, PartitionFetch, read
from trio_kafka.replication.partition import Partition

UNKNOWN = (-1, -1)


def ends(partition: Partition, *epochs: int) -> list[tuple[int, int]]:
    return [end_of_epoch(partition, partition.log, epoch) for epoch in epochs]


async def test_end_of_the_current_epoch_is_known_before_its_first_batch(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    assert ends(partition, -1, 0, 1, 2) == [UNKNOWN, (0, 0), (1, 0), UNKNOWN]
    append(partition, batch(2), acks=1)
    assert ends(partition, -1, 0, 1, 2) == [UNKNOWN, (0, 0), (1, 2), UNKNOWN]

    partition.update(state(1, epoch=4))

    assert ends(partition, 0, 1, 2, 3, 4, 5) == [(0, 0), (1, 2), (1, 2), (1, 2), (4, 2), UNKNOWN]
    append(partition, batch(1), acks=1)
    assert ends(partition, 0, 1, 2, 3, 4, 5) == [(0, 0), (1, 2), (1, 2), (1, 2), (4, 3), UNKNOWN]


async def test_new_epoch_writes_nothing_to_an_empty_log(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    partition.update(state(1, epoch=4))

    assert ends(partition, 4) == [(4, 0)]
    assert not partition.log.epochs.dirty


async def test_follower_knows_only_the_epochs_of_its_batches(world) -> None:
    partition, _ = new_partition(world, 1, 2, epoch=1)
    append(partition, batch(2), acks=1)
    partition.update(state(1, 2, leader=2, epoch=3))

    assert ends(partition, 1, 2, 3) == [(1, 2), UNKNOWN, UNKNOWN]


async def test_epoch_at_the_start_of_an_empty_log_is_that_of_the_leader(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    assert first_epoch(partition, partition.log) == 1
    append(partition, batch(2), acks=1)
    partition.update(state(1, epoch=4))
    assert first_epoch(partition, partition.log) == 1

    partition.log.set_start_offset(2)

    assert first_epoch(partition, partition.log) == 4
    listed = special_offset(partition, EARLIEST, Isolation.READ_UNCOMMITTED)
    assert (listed.offset, listed.leader_epoch) == (2, 4)


async def test_follower_with_an_epoch_unknown_to_the_leader_gets_the_diverging_epoch(
    world,
) -> None:
    partition, _ = new_partition(world, 1, 2, epoch=1)
    append(partition, batch(2), acks=1)
    partition.update(state(1, 2, epoch=5))

    ahead = PartitionFetch(offset=3, max_bytes=1 << 20, last_fetched_epoch=3)
    result = read(partition, ahead, 1 << 20, Isolation.LOG_END, at_least_one=True)

    assert result.diverging == EpochEnd(1, 2)
    with pytest.raises(KafkaError, match="OFFSET_OUT_OF_RANGE"):
        unknown = PartitionFetch(offset=3, max_bytes=1 << 20, last_fetched_epoch=6)
        read(partition, unknown, 1 << 20, Isolation.LOG_END, at_least_one=True)


async def test_epoch_end_names_the_epoch_and_its_end_offset(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    append(partition, batch(1), acks=1)
    partition.update(state(1, epoch=4))

    assert epoch_end(partition, 3) == EpochEnd(1, 1)
    assert epoch_end(partition, 4, 4) == EpochEnd(4, 1)
