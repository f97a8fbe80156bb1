import pytest

from tests.replication.kit import batch, new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.replication.append import append
from trio_kafka.replication.delete_records import HIGH_WATERMARK, delete_records


async def test_records_below_the_offset_are_gone_for_readers(world) -> None:
    partition, marks = new_partition(world, 1)
    append(partition, batch(5), acks=1)
    marks.clear()

    assert delete_records(partition, 3) == 3

    assert partition.log.start_offset == 3
    assert marks == [partition]
    assert delete_records(partition, 1) == 3
    assert delete_records(partition, HIGH_WATERMARK) == 5


@pytest.mark.parametrize("offset", [-2, 6])
async def test_offsets_that_are_not_committed_are_out_of_range(world, offset: int) -> None:
    partition, _ = new_partition(world, 1)
    append(partition, batch(5), acks=1)

    with pytest.raises(KafkaError) as caught:
        delete_records(partition, offset)
    assert caught.value.code is ErrorCode.OFFSET_OUT_OF_RANGE
    assert partition.log.start_offset == 0


async def test_a_topic_that_is_only_compacted_deletes_no_records(world) -> None:
    partition, _ = new_partition(world, 1, cleanup_policy=frozenset({"compact"}))

    with pytest.raises(KafkaError) as caught:
        delete_records(partition, 0)
    assert caught.value.code is ErrorCode.POLICY_VIOLATION
