import pytest
from crc32c import crc32c

from tests.replication.kit import batch, new_partition
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.read import read_bytes
from trio_kafka.records.batch import Record, encode_batch, iterate_headers, read_records
from trio_kafka.records.compression import Codec
from trio_kafka.records.validate import Limits
from trio_kafka.replication.leader.append import append, append_own
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.testing.simulation import fault_on


def refused(partition: Partition, records, acks: int = 1, **arguments) -> ErrorCode:
    end = partition.log.end_offset if partition.log else 0
    with pytest.raises(KafkaError) as caught:
        append(partition, records, acks=acks, **arguments)
    assert not partition.log or partition.log.end_offset == end
    return caught.value.code


async def test_appends_get_consecutive_offsets_and_mark_the_partition(world) -> None:
    partition, marks = new_partition(world, 1, epoch=4)

    first = append(partition, batch(3), acks=1)
    second = append(partition, batch(2), acks=-1)

    assert (first.first_offset, first.last_offset, first.start_offset) == (0, 2, 0)
    assert (second.first_offset, second.last_offset) == (3, 4)
    assert first.append_time_ms == -1
    assert partition.log.leader_epoch == 4
    assert marks == [partition, partition]


async def test_append_with_acks_all_is_refused_below_min_insync_replicas(world) -> None:
    settings = PartitionSettings(min_insync_replicas=2)
    partition, marks = new_partition(world, 1, 2, settings=settings)
    partition.isr = (1,)

    assert refused(partition, batch(), acks=-1) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert marks == []
    assert append(partition, batch(), acks=1).last_offset == 0


@pytest.mark.parametrize(
    ("replicas", "isr", "enough"),
    [
        ((1, 2, 3), (1,), False),
        ((1, 2, 3), (1, 2), True),
        ((1, 2, 3), (1, 2, 3), True),
        ((1,), (1,), True),  # no more than there are
    ],
)
async def test_minimum_for_acks_all_is_capped_at_the_number_of_replicas(
    world, replicas, isr, enough: bool
) -> None:
    settings = PartitionSettings(min_insync_replicas=2)
    partition, _ = new_partition(world, *replicas, settings=settings)
    partition.isr = isr

    if enough:
        assert append(partition, batch(), acks=-1).last_offset == 0
    else:
        assert refused(partition, batch(), acks=-1) is ErrorCode.NOT_ENOUGH_REPLICAS


async def test_follower_refuses_appends(world) -> None:
    partition, _ = new_partition(world, 1, 2, leader=2)

    assert refused(partition, batch()) is ErrorCode.NOT_LEADER_OR_FOLLOWER


async def test_damaged_and_control_batches_are_refused(world) -> None:
    partition, marks = new_partition(world, 1)
    damaged = batch()
    damaged[-1] ^= 1

    assert refused(partition, None) is ErrorCode.INVALID_RECORD
    assert refused(partition, damaged) is ErrorCode.CORRUPT_MESSAGE
    assert refused(partition, batch(control=True)) is ErrorCode.INVALID_RECORD
    zstd = batch(codec=Codec.ZSTD)
    assert refused(partition, zstd, zstd=False) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
    assert marks == []


async def test_a_batch_over_the_limit_is_refused(world) -> None:
    settings = PartitionSettings(limits=Limits(max_message_bytes=100))
    partition, _ = new_partition(world, 1, settings=settings)

    assert refused(partition, batch(size=100)) is ErrorCode.MESSAGE_TOO_LARGE


async def test_incomplete_batch_after_the_first_is_not_stored(world) -> None:
    partition, _ = new_partition(world, 1)
    whole = bytes(batch())

    append(partition, memoryview(bytearray(whole + whole[:20])), acks=1)

    assert partition.log.size == len(whole)
    assert (await read_bytes(partition.log, 0, 1000))[16:] == whole[16:]


async def test_compacted_topic_refuses_records_without_keys(world) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(need_keys=True))
    without = memoryview(bytearray(encode_batch([Record(value=b"v")])))

    assert refused(partition, without) is ErrorCode.INVALID_RECORD
    append(partition, batch(), acks=1)


async def test_batches_are_recompressed_with_the_codec_of_the_topic(world) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(codec=Codec.LZ4))

    append(partition, batch(3, codec=Codec.GZIP), acks=1)
    append(partition, batch(2), acks=1)

    content = await read_bytes(partition.log, 0, 10_000)
    headers = list(iterate_headers(content))
    assert [header.codec for _, header in headers] == [Codec.LZ4] * 2
    assert [r.offset for at, h in headers for r in read_records(content, at, h)] == [0, 1, 2, 3, 4]


async def test_records_that_cannot_be_decompressed_are_refused_by_a_topic_that_recompresses(
    world,
) -> None:
    partition, _ = new_partition(world, 1, settings=PartitionSettings(codec=Codec.NONE))
    lying = bytearray(batch(size=60))
    lying[22] = Codec.GZIP
    lying[17:21] = crc32c(bytes(lying[21:])).to_bytes(4, "big")

    assert refused(partition, memoryview(lying)) is ErrorCode.INVALID_RECORD


async def test_a_batch_sent_twice_is_stored_once(world) -> None:
    partition, _ = new_partition(world, 1)
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0}

    first = append(partition, batch(2, **sent), acks=-1)
    again = append(partition, batch(2, **sent), acks=-1)

    assert (again.first_offset, again.last_offset) == (first.first_offset, first.last_offset)
    assert again.duplicate
    assert partition.log.end_offset == 2


async def test_a_disk_error_takes_the_partition_offline(world) -> None:
    partition, marks = new_partition(world, 1)
    world.universe.fault = fault_on("append", OSError(5, "EIO"))

    assert refused(partition, batch()) is ErrorCode.KAFKA_STORAGE_ERROR
    world.universe.fault = None
    assert refused(partition, batch()) is ErrorCode.KAFKA_STORAGE_ERROR
    assert marks == [partition, partition.loss]


async def test_a_batch_of_the_broker_itself_is_appended_without_validation(world) -> None:
    partition, marks = new_partition(world, 1, epoch=2)

    appended = append_own(partition, batch(2, control=True), acks=-1, leader_epoch=2)

    assert (appended.first_offset, appended.last_offset) == (0, 1)
    assert marks == [partition]
    with pytest.raises(KafkaError) as caught:
        append_own(partition, batch(), acks=-1, leader_epoch=1)
    assert caught.value.code is ErrorCode.FENCED_LEADER_EPOCH


async def test_a_batch_of_a_transaction_is_refused_and_nothing_is_appended(world) -> None:
    partition, marks = new_partition(world)
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}

    with pytest.raises(KafkaError) as caught:
        append(partition, batch(1, **sent), acks=1)

    assert caught.value.code is ErrorCode.INVALID_TXN_STATE
    assert (partition.log.end_offset, marks) == (0, [])
