import pytest
import trio

from tests.log.kit import decompression
from tests.records.kit import encode_batch
from tests.replication.kit import make_cold, new_partition, state
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import SMALL
from trio_kafka.records.batch import Record
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.replication.leader.append import append_own
from trio_kafka.replication.leader.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LARGEST_TIME,
    LATEST,
    LATEST_TIERED,
    NOTHING,
    ListedOffset,
    check_time_is_known,
    epoch_end,
    search_offset,
    special_offset,
)
from trio_kafka.replication.leader.read import EpochEnd, Isolation
from trio_kafka.replication.partition import Partition

CLIENT = Isolation.READ_UNCOMMITTED


def append_acknowledged(partition: Partition, *times: int, **fields) -> None:
    now = partition.log.now_ms()
    records = [Record(timestamp=now + time) for time in times]
    append_own(partition, memoryview(bytearray(encode_batch(records, **fields))), acks=1)


async def search(partition: Partition, timestamp: int, *args) -> ListedOffset:
    memory = decompression(partition.log.world)
    return await search_offset(partition, timestamp, *args, decompression=memory)


async def test_earliest_and_latest_offset_have_a_leader_epoch_and_no_timestamp(world) -> None:
    partition, _ = new_partition(world, 1, epoch=3)
    append_acknowledged(partition, 0, 1)
    partition.update(state(1, epoch=6))
    append_acknowledged(partition, 2)

    assert special_offset(partition, LATEST, CLIENT) == ListedOffset(3, -1, 6)
    assert special_offset(partition, EARLIEST, CLIENT) == ListedOffset(0, -1, 3)
    assert special_offset(partition, EARLIEST_LOCAL, CLIENT) == ListedOffset(0, -1, 3)
    partition.log.set_start_offset(2)
    assert special_offset(partition, EARLIEST, CLIENT) == ListedOffset(2, -1, 6)


async def test_no_offset_is_listed_for_tiered_storage(world) -> None:
    partition, _ = new_partition(world, 1)

    assert special_offset(partition, LATEST_TIERED, CLIENT) == NOTHING
    assert special_offset(partition, EARLIEST_PENDING_UPLOAD, CLIENT) == NOTHING


async def test_latest_offset_depends_on_the_isolation_level(world) -> None:
    partition, _ = new_partition(world, 1)
    append_acknowledged(partition, 0)
    sent = {"producer_id": 7, "producer_epoch": 0, "base_sequence": 0, "transactional": True}
    append_acknowledged(partition, 1, **sent)
    partition.isr = (1, 2)
    append_acknowledged(partition, 2)

    ends = [special_offset(partition, LATEST, isolation).offset for isolation in Isolation]

    assert ends == [2, 1, 3]


async def test_offset_by_timestamp_is_that_of_the_first_record_at_or_after_the_timestamp(
    world, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1, epoch=2)
    now = partition.log.now_ms()
    append_acknowledged(partition, -50, -40)
    append_acknowledged(partition, -30, -20)

    assert special_offset(partition, now - 35, CLIENT) is None
    assert await search(partition, now - 35, CLIENT) == ListedOffset(2, now - 30, 2)
    assert await search(partition, 0, CLIENT) == ListedOffset(0, now - 50, 2)
    assert await search(partition, now, CLIENT) == NOTHING
    make_cold(partition)
    assert await search(partition, now - 40, CLIENT) == ListedOffset(1, now - 40, 2)


async def test_search_by_timestamp_is_refused_while_memory_for_decompression_is_taken(
    world, nursery, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1, max_message_bytes=1 << 20)
    large = encode_batch([Record(timestamp=5, value=bytes(SMALL))], codec=Codec.LZ4)
    append_own(partition, memoryview(bytearray(large)), acks=1)
    memory = decompression(world)

    async def hold() -> None:
        async with memory.unpacked(Codec.LZ4, large[HEADER_SIZE:], 2 * SMALL):
            await trio.sleep(60)

    result = await search_offset(partition, 5, Isolation.LOG_END, decompression=memory)
    assert result.offset == 0
    nursery.start_soon(hold)
    await trio.sleep(1)
    began = trio.current_time()
    codes = []

    async def ask() -> None:
        with pytest.raises(KafkaError) as caught:
            await search_offset(partition, 5, Isolation.LOG_END, decompression=memory)
        codes.append((caught.value.code, round(trio.current_time() - began)))

    async with trio.open_nursery() as askers:
        for _ in range(3):
            askers.start_soon(ask)

    refused = ErrorCode.OFFSET_NOT_AVAILABLE
    assert sorted(codes, key=lambda code: code[1]) == [(refused, 0), (refused, 0), (refused, 10)]
    nursery.cancel_scope.cancel()


async def test_offset_of_the_largest_timestamp_may_be_in_the_middle_of_a_batch(
    world, autojump_clock
) -> None:
    partition, _ = new_partition(world, 1)
    now = partition.log.now_ms()
    assert await search(partition, LARGEST_TIME, CLIENT) == NOTHING
    append_acknowledged(partition, -50, -10, -10)
    append_acknowledged(partition, -30)

    assert await search(partition, LARGEST_TIME, CLIENT) == ListedOffset(1, now - 10, 0)


async def test_search_by_timestamp_does_not_find_uncommitted_records(world, autojump_clock) -> None:
    partition, _ = new_partition(world, 1, 2)
    now = partition.log.now_ms()
    append_acknowledged(partition, -50)

    assert await search(partition, 0, CLIENT) == NOTHING
    assert await search(partition, 0, Isolation.LOG_END) == ListedOffset(0, now - 50, 0)


async def test_offsets_are_not_available_until_a_new_leader_knows_the_committed_end(world) -> None:
    partition, _ = new_partition(world, 1, 2)
    append_acknowledged(partition, 0)
    partition.update(state(1, 2, epoch=1))

    with pytest.raises(KafkaError) as caught:
        special_offset(partition, LATEST, CLIENT)
    assert caught.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
    with pytest.raises(KafkaError) as caught:
        await search(partition, 0, CLIENT)
    assert caught.value.code is ErrorCode.OFFSET_NOT_AVAILABLE
    assert special_offset(partition, LATEST, Isolation.LOG_END).offset == 1
    partition.follower_fetched(2, 1)
    assert special_offset(partition, LATEST, CLIENT).offset == 1


async def test_offsets_of_a_follower_or_of_an_old_epoch_are_refused(world) -> None:
    partition, _ = new_partition(world, 1, 2, leader=2, epoch=3)

    with pytest.raises(KafkaError, match="NOT_LEADER_OR_FOLLOWER"):
        special_offset(partition, LATEST, CLIENT)
    with pytest.raises(KafkaError, match="FENCED_LEADER_EPOCH"):
        await search(partition, 0, CLIENT, 2)
    assert special_offset(partition, EARLIEST, CLIENT, leader_only=False).offset == 0


@pytest.mark.parametrize(
    ("timestamp", "version", "is_known"),
    [
        (0, 1, True),
        (LATEST, 1, True),
        (EARLIEST, 1, True),
        (LARGEST_TIME, 6, False),
        (LARGEST_TIME, 7, True),
        (EARLIEST_LOCAL, 7, False),
        (EARLIEST_LOCAL, 8, True),
        (LATEST_TIERED, 8, False),
        (LATEST_TIERED, 9, True),
        (EARLIEST_PENDING_UPLOAD, 10, False),
        (EARLIEST_PENDING_UPLOAD, 11, True),
        (-7, 11, False),
    ],
)
def test_special_timestamps_are_refused_below_their_request_version(
    timestamp: int, version: int, is_known: bool
) -> None:
    if is_known:
        check_time_is_known(timestamp, version)
        return
    with pytest.raises(KafkaError) as caught:
        check_time_is_known(timestamp, version)
    assert caught.value.code is ErrorCode.UNSUPPORTED_VERSION


async def test_end_offset_of_an_epoch_is_the_start_offset_of_the_next_epoch(world) -> None:
    partition, _ = new_partition(world, 1, epoch=1)
    append_acknowledged(partition, 0, 1)
    partition.update(state(1, epoch=4))
    append_acknowledged(partition, 2)

    assert epoch_end(partition, 1, 4) == EpochEnd(1, 2)
    assert epoch_end(partition, 3) == EpochEnd(1, 2)
    assert epoch_end(partition, 4) == EpochEnd(4, 3)
    assert epoch_end(partition, 5) == EpochEnd(-1, -1)
    with pytest.raises(KafkaError, match="FENCED_LEADER_EPOCH"):
        epoch_end(partition, 1, 3)
