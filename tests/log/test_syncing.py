import trio

from tests.log.kit import append, batch
from tests.log.managers import SMALL, T0, T1, TOPIC_ID, format_directory, started
from trio_kafka.log.config import LogConfig


async def test_the_task_syncs_what_was_sealed(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    await nursery.start(manager.run)
    for _ in range(7):
        append(log, batch())
    await trio.sleep(1)

    assert log.recovery_point == 7


async def test_a_log_whose_sync_takes_long_holds_up_no_other(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world, config=LogConfig(flush_messages=1))
    await nursery.start(manager.run)
    slow, fast = (manager.create(one, TOPIC_ID, LogConfig(flush_messages=1)) for one in (T0, T1))

    async with slow.writing:
        for _ in range(10):  # as often as there are others to sync it
            append(slow, batch())
            append(fast, batch())
            await trio.sleep(0.3)
        assert (slow.recovery_point, fast.recovery_point) == (0, 10)
    await trio.sleep(0.5)

    assert slow.recovery_point == 10


async def test_a_log_that_is_deleted_while_it_is_synced_stops_nothing(
    autojump_clock, world, nursery
):
    await format_directory(world, "/data")
    manager = await started(world)
    await nursery.start(manager.run)
    log = manager.create(T0, TOPIC_ID, SMALL)
    for _ in range(7):
        append(log, batch())
    await trio.sleep(0.002)
    manager.delete(T0)
    await trio.sleep(1)

    other = manager.create(T1, TOPIC_ID, SMALL)
    for _ in range(7):
        append(other, batch())
    await trio.sleep(1)

    assert other.recovery_point == 7
    assert manager.directories[0].offline is None
