"""New logs that are synced together."""

import errno

import pytest
import trio

from tests.log.kit import append, batch
from tests.log.managers import SMALL, TOPIC_ID, format_directory, started
from tests.log.test_unsynced_files import synced
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.durability.sync_new_logs import is_empty, sync_new
from trio_kafka.log.durability.sync_queue import NEW_AFTER_S, NEW_AT_ONCE
from trio_kafka.log.files.checkpoints import read_file
from trio_kafka.log.files.partition_metadata import NAME, encode
from trio_kafka.model import TopicPartition
from trio_kafka.testing.simulation import fault_on, run_simulated, run_until_crash

COUNT = NEW_AT_ONCE + 10


def make(manager, count=3):
    return [manager.create(TopicPartition("t", n), TOPIC_ID, SMALL) for n in range(count)]


async def started_at(world):
    await format_directory(world, "/data")
    return await started(world)


async def test_new_logs_are_synced_in_groups(autojump_clock, world, nursery):
    manager = await started_at(world)
    await nursery.start(manager.run)
    await trio.sleep(0.1)
    logs = make(manager, COUNT)
    synced(world)
    for log in logs:
        log.wants_sync(log)
    await trio.sleep(60)

    names = synced(world)
    assert not any(log.unsynced.new for log in logs)
    assert names.count("/data") == -(-COUNT // NEW_AT_ONCE)
    files = [name for name in names if name.endswith(NAME)]
    assert len(files) == names.count("/data")  # one content, one file
    assert len(names) == COUNT + 2 * len(files)
    first = names.index("/data")
    assert names[0] == files[0]
    assert sorted(names[1:first]) == sorted(f"/data/t-{n}" for n in range(NEW_AT_ONCE))


async def test_new_logs_of_two_directories_are_synced_separately(autojump_clock, world, nursery):
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


def test_synced_new_logs_survive_a_power_loss():
    async def main(universe):
        async def life(world):
            logs = make(await started_at(world))
            assert await sync_new(logs) == []
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


async def test_bytes_appended_during_the_sync_of_new_logs_are_not_durable(
    autojump_clock, world, nursery
):
    first, *others = make(await started_at(world))
    nursery.start_soon(sync_new, [first, *others])
    await trio.sleep(0.0001)
    assert first.unsynced.new

    for _ in range(7):
        append(first, batch())
    await trio.sleep(5)
    assert not first.unsynced.new
    assert first.recovery_point == 0
    synced(world)

    await sync(first)
    assert synced(world)[-1] == "/data/t-0"  # segments that were begun meanwhile
    assert first.recovery_point == 7


async def test_new_logs_created_one_after_another_are_synced_together(
    autojump_clock, world, nursery
):
    manager = await started_at(world)
    await nursery.start(manager.run)
    synced(world)
    for log in make(manager, 10):
        log.wants_sync(log)
        await trio.sleep(NEW_AFTER_S / 20)
    await trio.sleep(5)

    assert synced(world).count("/data") == 1


async def test_topic_id_of_a_log_becomes_durable_with_its_first_sync(autojump_clock, world):
    (log,) = make(await started_at(world), 1)
    append(log, batch())

    await sync(log)

    assert await read_file(log.directory, NAME) == encode(TOPIC_ID)
    names = synced(world)
    assert names.index(f"/data/t-0/{NAME}.tmp") < names.index(f"/data/t-0/{0:020}.log")
    await sync(log)
    assert not [name for name in synced(world) if NAME in name]


async def test_topic_id_written_for_a_group_is_not_written_again(autojump_clock, world):
    (log,) = make(await started_at(world), 1)
    await sync_new([log])
    append(log, batch())
    synced(world)

    await sync(log)

    assert not [name for name in synced(world) if NAME in name]


async def test_new_log_during_an_append_is_not_synced_with_its_group(
    autojump_clock, world, nursery
):
    first, second, third = make(await started_at(world))
    append(first, batch())
    result = []

    async def sync_them():
        result.extend(await sync_new([first, second, third]))

    async with second.writer.turn("append"):
        nursery.start_soon(sync_them)
        await trio.sleep(5)

    assert result == [second]

    assert not first.unsynced.new
    assert first.recovery_point == 0
    assert second.unsynced.new
    assert not third.unsynced.new


async def test_log_that_has_bytes_when_its_sync_is_requested_is_synced_with_them(
    autojump_clock, world, nursery
):
    manager = await started_at(world)
    await nursery.start(manager.run)
    (log,) = make(manager, 1)
    assert is_empty(log)
    append(log, batch())
    assert not is_empty(log)

    log.wants_sync(log)
    await trio.sleep(5)

    assert log.recovery_point == 1


async def test_new_logs_left_out_of_a_group_are_synced_later(autojump_clock, world, nursery):
    manager = await started_at(world)
    await nursery.start(manager.run)
    logs = make(manager)
    for log in logs:
        log.wants_sync(log)
    append(logs[0], batch())
    logs[0].wants_sync(logs[0])
    async with logs[1].writer.turn("append"):
        await trio.sleep(5)
    await trio.sleep(5)

    assert not any(log.unsynced.new for log in logs)
    assert [log.recovery_point for log in logs] == [1, 0, 0]


@pytest.mark.parametrize("after_s", [0.0, 0.05, 0.11, 0.13, 0.15, 0.2])
async def test_deletion_of_a_new_log_does_not_stop_the_sync_of_others(
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


async def test_missing_directory_of_a_new_log_does_not_fail_the_logs(autojump_clock, world):
    logs = make(await started_at(world))
    world.universe.fault = fault_on("sync_directory", OSError(errno.ENOENT, "gone"), "t-1")

    assert await sync_new(logs) == logs
    assert all(log.failed is None for log in logs)


@pytest.mark.parametrize(("call", "place"), [("sync", NAME), ("sync_directory", "t-2")])
async def test_a_failed_sync_takes_the_directory_offline(autojump_clock, world, call, place):
    manager = await started_at(world)
    logs = make(manager)
    logs[0].abandon()
    world.universe.fault = fault_on(call, OSError(5, "EIO"), place)

    assert await sync_new(logs) == []

    assert "EIO" in str(manager.directories[0].offline)
    assert all(log.failed for log in logs)
    assert [log.writer.change for log in logs] == [None] * len(logs)


async def test_checkpoints_are_lowered_before_new_logs_are_synced(autojump_clock, world):
    logs = make(await started_at(world))
    lowered = []

    async def lower(*them):
        await trio.sleep(1)
        lowered.extend(log.unsynced.new for log in them)

    for log in logs:
        log.lower_checkpoints = lower

    await sync_new(logs)

    assert lowered == [True] * 3


async def test_sync_of_new_logs_waits_for_a_free_descriptor(autojump_clock, world, nursery):
    logs = make(await started_at(world))
    world.universe.fault = fault_on("sync_directory", OSError(errno.EMFILE, "EMFILE"))
    nursery.start_soon(sync_new, logs)
    await trio.sleep(5)
    assert all(log.unsynced.new for log in logs)

    world.universe.fault = lambda *_: None
    await trio.sleep(5)
    assert not any(log.unsynced.new for log in logs)
    assert all(log.failed is None for log in logs)
