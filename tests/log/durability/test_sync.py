import pytest
import trio
import trio.testing

from tests.log.kit import (
    append,
    batch,
    new_log,
)
from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.log.durability.sync import sync


async def test_second_sync_after_a_failed_sync_raises_an_error(autojump_clock, world):
    log = new_log(world)
    append(log, batch())
    world.universe.fault = lambda machine, call, target: (
        OSError(5, "io") if call == "sync" else None
    )
    with pytest.raises(LogDirError):
        await sync(log)
    world.universe.fault = lambda machine, call, target: None

    with pytest.raises(LogDirError):
        await sync(log)
    assert log.recovery_point == 0


async def test_sync_is_requested_at_a_sealed_segment_and_after_flush_messages(
    autojump_clock, world
):
    log = new_log(world, segment_bytes=200, flush_messages=4)
    requests = []
    log.wants_sync = lambda log_to_sync: requests.append(log_to_sync.end_offset)
    for _ in range(4):
        append(log, batch())

    assert requests == [2, 4]
    await sync(log)
    assert log.recovery_point == 4


async def test_append_that_makes_a_flush_due_counts_only_after_its_sync(autojump_clock, world):
    log = new_log(world, flush_messages=3)
    durable_ends = []
    log.on_durable = lambda: durable_ends.append(log.durable_end)
    append(log, batch(2))
    assert log.durable_end == 2  # no flush is due: acknowledged without one

    append(log, batch(1))
    assert log.durable_end == 0
    await sync(log)

    assert durable_ends == [3]
    append(log, batch(2))
    assert log.durable_end == 5
    await sync(log)
    assert durable_ends == [3]  # no append waited


async def test_records_appended_during_a_sync_are_not_durable_after_it(autojump_clock, world):
    log = new_log(world)
    append(log, batch(2))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(sync, log)
        await trio.testing.wait_all_tasks_blocked()
        append(log, batch(3))

    assert (log.recovery_point, log.end_offset) == (2, 5)
    await sync(log)
    assert log.recovery_point == 5


async def test_a_sync_that_waits_for_its_turn_opens_no_file_of_a_deleted_log(autojump_clock, world):
    log = new_log(world)
    append(log, batch())

    async def wait_and_sync() -> None:
        with pytest.raises(KafkaError, match="is closed"):
            await sync(log)

    async with trio.open_nursery() as nursery, log.writer.turn("append"):
        nursery.start_soon(wait_and_sync)
        await trio.testing.wait_all_tasks_blocked()
        log.abandon()

    assert world.descriptors.files == 0


async def test_a_sync_in_progress_opens_no_file_of_a_deleted_log(autojump_clock, world):
    log = new_log(world, segment_bytes=100)
    append(log, batch())
    append(log, batch())
    assert len(log.segments) == 2
    world.universe.fault = lambda machine, call, target: 1.0 if call == "sync" else None

    async def start_sync() -> None:
        with pytest.raises(KafkaError, match="is closed"):
            await sync(log)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(start_sync)
        await trio.sleep(0.5)  # the first of two segments is being synced
        log.abandon()

    assert world.descriptors.files == 0
