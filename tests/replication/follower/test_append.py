"""A follower stores what its leader sent, and follows the offsets of the leader's log."""

import pytest

from tests.replication.kit import batch, new_partition, state
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.read import read_bytes
from trio_kafka.records.header import STAMP, read_header
from trio_kafka.replication.follower.append import FetchedRecords, append_fetched
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Offline
from trio_kafka.testing.simulation import fault_on


def stored(offset: int, epoch: int, count: int = 1, **fields) -> bytes:
    """A batch as the leader has stored it."""
    content = batch(count, **fields)
    STAMP.pack_into(content, 0, offset, read_header(content).length, epoch)
    return bytes(content)


def fetched(*batches: bytes, epoch: int = 3, high_watermark: int = 0, start: int = 0):
    return FetchedRecords(
        leader_epoch=epoch,
        records=memoryview(b"".join(batches)),
        high_watermark=high_watermark,
        start_offset=start,
    )


def new_follower(world, **config) -> tuple[Partition, list]:
    return new_partition(world, 1, 2, leader=2, epoch=3, **config)


def error_of(partition: Partition, answer: FetchedRecords) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        append_fetched(partition, answer)
    return caught.value.code


async def test_fetched_batches_keep_the_offsets_and_epochs_of_their_leader(
    world, autojump_clock
) -> None:
    partition, marks = new_follower(world)
    batches = stored(0, 1, 2), stored(5, 3)  # compaction has left a gap

    end = append_fetched(partition, fetched(*batches, high_watermark=2))

    assert end == partition.log.end_offset == 6
    assert await read_bytes(partition.log, 0, 1 << 20) == b"".join(batches)
    assert partition.log.epochs.rows == [(1, 0), (3, 5)]
    assert partition.log.high_watermark == 2
    assert marks == [partition]


async def test_batch_with_a_wrong_checksum_is_rejected_with_all_of_its_answer(world) -> None:
    partition, marks = new_follower(world)
    damaged = bytearray(stored(1, 3))
    damaged[-1] ^= 1

    code = error_of(partition, fetched(stored(0, 3), bytes(damaged), high_watermark=1))

    assert code is ErrorCode.CORRUPT_MESSAGE
    assert (partition.log.end_offset, partition.log.high_watermark) == (0, 0)
    assert marks == []


async def test_follower_stops_at_the_first_batch_of_a_newer_epoch_than_it_asked_in(world) -> None:
    partition, _ = new_follower(world)
    late = stored(0, 2), stored(1, 3), stored(2, 4), stored(3, 3)

    end = append_fetched(partition, fetched(*late, high_watermark=4))

    assert end == 2
    assert partition.log.epochs.rows == [(2, 0), (3, 1)]
    assert partition.log.high_watermark == 2


async def test_answer_that_begins_with_a_newer_epoch_appends_nothing(world) -> None:
    partition, _ = new_follower(world)

    assert append_fetched(partition, fetched(stored(0, 4))) == 0
    assert partition.log.size == 0


async def test_last_batch_that_the_answer_cuts_short_is_left_out(world) -> None:
    partition, _ = new_follower(world)

    assert append_fetched(partition, fetched(stored(0, 3), stored(1, 3)[:-1])) == 1


async def test_answer_without_batches_moves_high_watermark_and_start_of_the_log(world) -> None:
    partition, marks = new_follower(world)
    append_fetched(partition, fetched(stored(0, 3), stored(1, 3)))
    marks.clear()

    append_fetched(partition, fetched(high_watermark=2, start=1))

    log = partition.log
    assert (log.start_offset, log.high_watermark, log.end_offset) == (1, 2, 2)
    assert marks == [partition]


async def test_high_watermark_of_the_leader_counts_up_to_the_end_of_the_own_log(world) -> None:
    partition, _ = new_follower(world)

    append_fetched(partition, fetched(stored(0, 3), high_watermark=100))

    assert partition.log.high_watermark == 1


async def test_start_of_the_log_never_falls(world) -> None:
    partition, _ = new_follower(world)
    append_fetched(partition, fetched(stored(0, 3), high_watermark=1, start=1))

    append_fetched(partition, fetched(high_watermark=1, start=0))

    assert partition.log.start_offset == 1


async def test_start_above_the_high_watermark_is_out_of_range(world) -> None:
    partition, _ = new_follower(world)

    code = error_of(partition, fetched(stored(0, 3), high_watermark=0, start=1))

    assert code is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_batch_before_the_end_of_the_log_is_out_of_range(world) -> None:
    partition, _ = new_follower(world)
    append_fetched(partition, fetched(stored(0, 3)))

    assert error_of(partition, fetched(stored(0, 3))) is ErrorCode.OFFSET_OUT_OF_RANGE


async def test_answer_to_another_epoch_or_for_a_new_leader_is_rejected(world) -> None:
    partition, _ = new_follower(world)

    assert error_of(partition, fetched(epoch=2)) is ErrorCode.FENCED_LEADER_EPOCH
    assert error_of(partition, fetched(epoch=4)) is ErrorCode.UNKNOWN_LEADER_EPOCH
    partition.update(state(1, 2, leader=1, epoch=4))
    code = error_of(partition, fetched(stored(0, 4), epoch=4))
    assert code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert partition.log.end_offset == 0


async def test_batch_larger_than_the_limit_of_clients_is_stored(world) -> None:
    partition, _ = new_follower(world, max_message_bytes=100)

    assert append_fetched(partition, fetched(stored(0, 3, size=1000))) == 1


async def test_failed_write_takes_the_follower_offline(world, autojump_clock) -> None:
    partition, _ = new_follower(world)
    world.universe.fault = fault_on("append", OSError(5, "EIO"))

    code = error_of(partition, fetched(stored(0, 3)))

    assert code is ErrorCode.KAFKA_STORAGE_ERROR
    assert isinstance(partition.role, Offline)
