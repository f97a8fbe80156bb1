"""Producers of a partition, as it lists them."""

import pytest

from tests.replication.kit import batch, new_partition, state
from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.partition import active_producers


async def test_active_producers_are_those_with_batches_in_the_log(world) -> None:
    partition, _ = new_partition(world)
    append(partition, batch(producer_id=7, producer_epoch=2, base_sequence=4), acks=1)

    (result,) = active_producers(partition)

    assert (result.producer_id, result.epoch, result.last_sequence) == (7, 2, 4)


async def test_follower_lists_its_producers_and_an_offline_partition_refuses(world) -> None:
    partition, _ = new_partition(world)
    append(partition, batch(producer_id=7, producer_epoch=2, base_sequence=4), acks=1)
    partition.update(state(1, 2, leader=2, epoch=1))
    assert len(active_producers(partition)) == 1

    partition.fail(LogDirError("/d", "gone"))

    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR"):
        active_producers(partition)
