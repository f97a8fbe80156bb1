"""Copying: what the future log has after the log changed in each way it can."""

import pytest
import trio

from tests.log.kit import append, batch, read_all
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.log import Log
from trio_kafka.log.recovery.partition import create_log
from trio_kafka.log.retention import delete_before
from trio_kafka.log.rolling import roll, skip_in_thread
from trio_kafka.log.truncate import restart_at, truncate_to
from trio_kafka.model import TopicPartition
from trio_kafka.replication.moves.copying import Copying
from trio_kafka.world.world import World

AT = TopicPartition("t", 0)
SMALL = LogConfig(segment_bytes=400, index_interval_bytes=100)


def pair(world: World) -> Copying:
    """A log and its future log, both empty."""
    log, future = (
        create_log(world, world.directory(path, create=True), AT, config=SMALL)
        for path in ("/a", "/b")
    )
    return Copying(log, future, lambda: None)


async def copy_all(copying: Copying, max_bytes: int = 300) -> None:
    """Rounds as a move makes them."""
    for _ in range(1000):
        await copying.align()
        await copying.copy(max_bytes)
        if not copying.lag:
            await copying.align()
            return
    pytest.fail("it never catches up")


async def nothing() -> None:
    await trio.lowlevel.checkpoint()


def write(log: Log, count: int, epoch: int = 0) -> None:
    """So many batches of one to three records."""
    for number in range(count):
        append(log, batch(1 + number % 3), epoch)
    log.high_watermark = log.end_offset


async def same(copying: Copying) -> None:
    """Hold the future log to what readers see of the log."""
    log, future = copying.log, copying.future
    assert future.end_offset == log.end_offset
    assert future.start_offset == log.start_offset
    assert future.high_watermark == log.high_watermark
    assert await read_all(future, log.start_offset) == await read_all(log, log.start_offset)


async def test_copy_contains_all_batches_and_those_appended_during_the_copy(
    world, autojump_clock
) -> None:
    copying = pair(world)
    write(copying.log, 10)

    await copying.copy(100)
    assert copying.lag > 0
    assert not copying.is_close
    write(copying.log, 10, epoch=3)
    await copy_all(copying)

    await same(copying)
    assert copying.is_close
    assert copying.bytes == copying.log.size
    assert copying.future.epochs.rows == copying.log.epochs.rows
    assert len(copying.future.segments) > 1


async def test_future_log_begins_at_the_start_offset_of_the_log(world, autojump_clock) -> None:
    copying = pair(world)
    write(copying.log, 20)
    copying.log.set_start_offset(17)
    await delete_before(copying.log, 17, nothing)

    await copy_all(copying)

    await same(copying)
    assert copying.future.segments.first.base_offset <= 17


async def test_records_deleted_during_a_copy_are_hidden_in_both_logs(world, autojump_clock) -> None:
    copying = pair(world)
    write(copying.log, 10)
    await copy_all(copying)

    copying.log.set_start_offset(5)
    await copying.align()
    assert copying.future.start_offset == 5

    write(copying.log, 10)
    copying.log.set_start_offset(copying.log.end_offset)
    await copy_all(copying)
    await same(copying)


async def test_truncation_of_a_log_truncates_its_future_log(world, autojump_clock) -> None:
    copying = pair(world)
    write(copying.log, 12)
    await copy_all(copying)

    await truncate_to(copying.log, 9)
    write(copying.log, 4, epoch=2)
    await copy_all(copying)

    await same(copying)
    assert copying.future.epochs.rows == [(0, 0), (2, copying.log.epochs.rows[1][1])]


@pytest.mark.parametrize("regrown", [0, 30])
async def test_future_log_follows_a_log_truncated_and_appended_to_in_a_later_epoch(
    world, autojump_clock, regrown: int
) -> None:
    copying = pair(world)
    write(copying.log, 6, epoch=0)
    write(copying.log, 6, epoch=1)
    await copy_all(copying)

    await truncate_to(copying.log, 4)
    if regrown:
        write(copying.log, regrown, epoch=2)
    await copy_all(copying)

    await same(copying)


async def test_future_log_follows_a_log_that_restarts_at_another_offset(
    world, autojump_clock
) -> None:
    copying = pair(world)
    write(copying.log, 6)
    await copy_all(copying)

    await restart_at(copying.log, 500)
    await copy_all(copying)
    await same(copying)
    assert copying.future.end_offset == 500

    write(copying.log, 3, epoch=1)
    await copy_all(copying)
    await same(copying)


async def test_future_log_takes_over_an_offset_gap_at_the_end_of_the_log(
    world, autojump_clock
) -> None:
    copying = pair(world)
    write(copying.log, 3)
    roll(copying.log)
    async with copying.log.writer.turn(
        "roll"
    ):  # as if compaction had removed the records up to here
        await skip_in_thread(copying.log, 40)
    copying.log.high_watermark = 40

    await copy_all(copying)
    assert copying.future.end_offset == 40
    write(copying.log, 1)
    await copy_all(copying)
    await same(copying)


async def test_a_damaged_batch_is_not_copied(world, autojump_clock) -> None:
    copying = pair(world)
    write(copying.log, 2)
    good = bytearray(batch(2))
    good[-1] ^= 1
    append(copying.log, good)

    with pytest.raises(KafkaError) as caught:
        await copy_all(copying)

    assert caught.value.code is ErrorCode.CORRUPT_MESSAGE
    assert copying.future.end_offset <= 3


async def test_producers_and_epochs_of_removed_batches_are_handed_over_to_the_future_log(
    world, autojump_clock
) -> None:
    copying = pair(world)
    log = copying.log
    append(log, batch(1, producer_id=7, producer_epoch=0, base_sequence=0))
    write(log, 20)
    log.set_start_offset(15)
    await delete_before(log, 15, nothing)
    log.flush_end = 20
    await copy_all(copying)
    assert [producer.producer_id for producer in copying.future.producers] == []

    copying.hand_over()

    assert [producer.producer_id for producer in copying.future.producers] == [7]
    assert copying.future.producers.loads_at is None
    assert copying.future.epochs.dirty
    assert copying.future.flush_end == 20


async def test_future_log_that_lacks_the_first_batches_is_copied_again_from_the_start(
    world, autojump_clock
) -> None:
    """As after a power loss, for which a future log that was not durable had no first segment."""
    copying = pair(world)
    write(copying.log, 12)
    await restart_at(copying.future, 6)

    await copy_all(copying)

    await same(copying)
