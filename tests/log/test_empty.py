"""New logs that are synced together."""

import errno

import pytest
import trio

from tests.log.kit import append, batch
from tests.log.managers import SMALL, TOPIC_ID, format_directory, started
from tests.log.test_durable import synced
from trio_kafka.log.empty import is_empty, sync_empty
from trio_kafka.log.partition_metadata import NAME, encode
from trio_kafka.log.sync import sync
from trio_kafka.log.syncing import NEW_AT_ONCE
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash

COUNT = 100


def make(manager, count=3):
    return [manager.create(TopicPartition("t", n), TOPIC_ID, SMALL) for n in range(count)]


async def started_at(world):
    await format_directory(world, "/data")
    return await started(world)


async def test_many_are_synced_at_once(autojump_clock, world, nursery):
    manager = await started_at(world)
    await nursery.start(manager.run)
    await trio.sleep(0.1)
    logs = make(manager, COUNT)
    synced(world)
    for log in logs:
        log.wants_sync(log)
    await trio.sleep(30)

    names = synced(world)
    assert not any(log.unsynced.new for log in logs)
    assert names.count("/data") == -(-COUNT // NEW_AT_ONCE)
    assert len(names) == 2 * COUNT + names.count("/data")
    first = names.index("/data")
    assert all(name.endswith(NAME) for name in names[:NEW_AT_ONCE])
    assert sorted(names[NEW_AT_ONCE:first]) == sorted(f"/data/t-{n}" for n in range(NEW_AT_ONCE))


async def test_those_of_two_directories_are_synced_apart(autojump_clock, world, nursery):
    for path, mark in (("/a", "A"), ("/b", "B")):
        await format_directory(world, path, mark * 22)
    manager = await started(world, "/a", "/b")
    await nursery.start(manager.run)
    logs = make(manager, 6)
    for log in logs:
        log.wants_sync(log)
    synced(world)
    await trio.sleep(10)

    names = synced(world)
    assert not any(log.unsynced.new for log in logs)
    assert names.count("/a") == names.count("/b") == 1
    inside = [name for name in names[: names.index("/a")] if name.startswith("/b")]
    assert not inside


def test_what_was_synced_survives_a_power_loss():
    async def main(universe):
        async def life(world):
            logs = make(await started_at(world))
            assert await sync_empty(logs) == []
            for log in logs:
                append(log, batch())
            world.crash(power=True, kept=0.0)

        await run_until_crash(universe.machine("broker"), life, 100.0)
        root = universe.machine("broker").directory("/data")
        for number in range(3):
            directory = root.directory(f"t-{number}")
            file = directory.open(NAME)
            content = bytearray(file.size)
            await file.read(0, content)
            assert content == encode(TOPIC_ID)
            assert directory.exists(f"{0:020}.log")

    run_simulated(main)


async def test_bytes_that_come_meanwhile_are_not_taken_for_durable(autojump_clock, world, nursery):
    one, *others = make(await started_at(world))
    nursery.start_soon(sync_empty, [one, *others])
    await trio.sleep(0.001)
    assert one.unsynced.new

    for _ in range(7):
        append(one, batch())
    await trio.sleep(5)
    assert not one.unsynced.new
    assert one.recovery_point == 0
    synced(world)

    await sync(one)
    assert synced(world)[-1] == "/data/t-0"  # segments that were begun meanwhile
    assert one.recovery_point == 7


async def test_a_log_with_bytes_or_a_writer_is_left_to_others(autojump_clock, world, nursery):
    one, other, third = make(await started_at(world))
    append(one, batch())
    found = []

    async def sync_them():
        found.extend(await sync_empty([one, other, third]))

    async with other.writing:
        nursery.start_soon(sync_them)
        await trio.sleep(5)

    assert found == [one, other]

    assert not is_empty(one)
    assert one.unsynced.new
    assert other.unsynced.new
    assert not third.unsynced.new


async def test_those_left_over_are_synced_all_the_same(autojump_clock, world, nursery):
    manager = await started_at(world)
    await nursery.start(manager.run)
    logs = make(manager)
    for log in logs:
        log.wants_sync(log)
    append(logs[0], batch())
    async with logs[1].writing:
        await trio.sleep(5)
    await trio.sleep(5)

    assert not any(log.unsynced.new for log in logs)
    assert [log.recovery_point for log in logs] == [1, 0, 0]


@pytest.mark.parametrize("after_s", [0.0, 0.01, 0.03, 0.05, 0.1])
async def test_one_that_is_deleted_meanwhile_stops_no_other(
    autojump_clock, world, nursery, after_s
):
    manager = await started_at(world)
    await nursery.start(manager.run)
    logs = make(manager)
    for log in logs:
        log.wants_sync(log)
    await trio.sleep(after_s)
    manager.delete(logs[1].partition)
    await trio.sleep(10)

    assert not logs[0].unsynced.new
    assert not logs[2].unsynced.new
    assert manager.directories[0].offline is None


@pytest.mark.parametrize("number", [errno.ENOENT, errno.EBADF])
async def test_what_was_moved_meanwhile_is_no_fault_of_the_disk(autojump_clock, world, number):
    logs = make(await started_at(world))
    world.universe.fault = fault_on("sync_directory", OSError(number, "gone"), "t-1")

    assert await sync_empty(logs) == logs
    assert all(log.failed is None for log in logs)


@pytest.mark.parametrize(("call", "place"), [("sync", NAME), ("sync_directory", "t-2")])
async def test_a_failed_sync_takes_the_directory_offline(autojump_clock, world, call, place):
    manager = await started_at(world)
    logs = make(manager)
    logs[0].abandon()
    world.universe.fault = fault_on(call, OSError(5, "EIO"), place)

    assert await sync_empty(logs) == []

    assert "EIO" in str(manager.directories[0].offline)
    assert all(log.failed for log in logs)
    assert not any(log.writing.locked() for log in logs)


async def test_checkpoints_of_former_logs_are_lowered_first(autojump_clock, world):
    logs = make(await started_at(world))
    lowered = []

    async def lower(log):
        await trio.sleep(1)
        lowered.append(log.unsynced.new)

    for log in logs:
        log.lower_checkpoints = lower

    await sync_empty(logs)

    assert lowered == [True] * 3


async def test_no_descriptor_is_waited_for(autojump_clock, world, nursery):
    logs = make(await started_at(world))
    world.universe.fault = fault_on("sync_directory", OSError(errno.EMFILE, "EMFILE"))
    nursery.start_soon(sync_empty, logs)
    await trio.sleep(5)
    assert all(log.unsynced.new for log in logs)

    world.universe.fault = lambda *_: None
    await trio.sleep(5)
    assert not any(log.unsynced.new for log in logs)
    assert all(log.failed is None for log in logs)
