import pytest
import trio

from tests.log.kit import append, batch
from tests.log.managers import SMALL, T0, T1, TOPIC_ID, format_directory, started
from trio_kafka.log.config import LogConfig
from trio_kafka.log.durability.sync import sync
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash


async def test_sync_task_syncs_sealed_segments(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world)
    log = manager.create(T0, TOPIC_ID, SMALL)
    await nursery.start(manager.run)
    for _ in range(7):
        append(log, batch())
    await trio.sleep(1)

    assert log.recovery_point == 7


async def test_slow_sync_of_a_log_does_not_delay_other_logs(autojump_clock, world, nursery):
    await format_directory(world, "/data")
    manager = await started(world, config=LogConfig(flush_messages=1))
    await nursery.start(manager.run)
    slow, fast = (
        manager.create(partition, TOPIC_ID, LogConfig(flush_messages=1)) for partition in (T0, T1)
    )

    async with slow.writer.turn("append"):
        for _ in range(10):  # as often as there are others to sync it
            append(slow, batch())
            append(fast, batch())
            await trio.sleep(0.3)
        assert (slow.recovery_point, fast.recovery_point) == (0, 10)
    await trio.sleep(0.5)

    assert slow.recovery_point == 10


async def test_deletion_of_a_log_during_its_sync_does_not_stop_the_sync_task(
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


@pytest.mark.parametrize("mark", ["delete", "stray"])
def test_deleted_or_stray_log_keeps_its_mark_after_a_power_loss(mark):
    """As a live log, the one of a deleted topic would become a stray, which stays for ever."""

    async def main(universe):
        world = universe.machine("broker")
        await format_directory(world, "/data")

        async def life(world):
            manager = await started(world)
            log = manager.create(T0, TOPIC_ID, SMALL)
            async with trio.open_nursery() as nursery:
                await nursery.start(manager.run)
                await sync(log)
                (manager.delete if mark == "delete" else manager.make_stray)(T0)
                await trio.sleep(5)
                world.crash(power=True, kept=0.0)
                nursery.cancel_scope.cancel()

        await run_until_crash(world, life, 100.0)
        world = universe.machine("broker")
        (name,) = [name for name in world.directory("/data").names() if name.startswith("t-0")]
        assert name.endswith(f"-{mark}")

    run_simulated(main)


async def test_a_directory_whose_names_cannot_be_synced_goes_offline(
    autojump_clock, world, nursery
):
    await format_directory(world, "/data")
    manager = await started(world)
    await nursery.start(manager.run)
    manager.create(T0, TOPIC_ID, SMALL)
    world.universe.fault = fault_on("sync_directory", OSError(5, "EIO"))

    manager.delete(T0)
    await trio.sleep(5)

    assert "EIO" in str(manager.directories[0].offline)
