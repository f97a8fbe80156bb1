"""Facts of log directories: space, contents, syncs."""

import errno

import pytest
import trio
from trio.testing import MockClock

from tests.log.managers import T0, TOPIC_ID, format_directory, started
from trio_kafka.errors import LogDirError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.manager.directory_facts import AGAIN_S, LONGEST_S, read_directories
from trio_kafka.testing.simulation import fault_on
from trio_kafka.world.simulated import SimulatedWorld

MIB = 1 << 20


async def test_directory_says_its_space_and_what_it_holds(
    autojump_clock: MockClock, world: SimulatedWorld
) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    logs.create(T0, TOPIC_ID, LogConfig())
    world.capacity = 1000 * MIB
    world.free_space = lambda: 50 * MIB

    (facts,) = await read_directories(logs)
    (sized,) = await read_directories(logs, sizes=True)

    assert (facts.path, facts.error, facts.logs) == ("/data", "", 1)
    assert (facts.free_bytes, facts.total_bytes) == (50 * MIB, 1000 * MIB)
    assert facts.used_share == pytest.approx(0.95)
    assert (facts.log_bytes, sized.log_bytes) == (None, 0)


async def test_directory_lists_its_syncs_under_way_and_counts_those_that_wait(
    autojump_clock: MockClock, world: SimulatedWorld, nursery: trio.Nursery
) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    log = logs.create(T0, TOPIC_ID, LogConfig())
    log.wants_sync(log)
    (requested,) = await read_directories(logs)
    world.universe.fault = fault_on("sync_directory", 5.0)
    await nursery.start(logs.run)
    await trio.sleep(1)

    (syncing,) = await read_directories(logs)
    await trio.sleep(10)
    (synced,) = await read_directories(logs)

    assert (requested.waiting, requested.syncs) == (1, ())
    (sync,) = syncing.syncs
    assert (sync.directory, sync.files, syncing.waiting) == ("/data", ("t-0",), 0)
    assert sync.age_s == pytest.approx(0.9, 0.1)
    assert (synced.syncs, synced.waiting) == ((), 0)


async def test_directory_that_is_offline_says_why(
    autojump_clock: MockClock, world: SimulatedWorld
) -> None:
    for path in ("/a", "/b"):
        await format_directory(world, path, "A" * 21 + path[1])
    logs = await started(world, "/a", "/b")
    logs.directories[1].fail(OSError(errno.EIO, "Input/output error"))
    logs.offline_paths["/c"] = LogDirError("/c", "no permission")

    good, failed, unopened = await read_directories(logs)

    assert good.error == ""
    assert "Input/output error" in failed.error
    assert (unopened.path, unopened.free_bytes) == ("/c", None)
    assert "no permission" in unopened.error


async def test_space_of_a_disk_that_does_not_answer_is_unknown(
    autojump_clock: MockClock, world: SimulatedWorld
) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    world.universe.fault = fault_on("space", OSError(errno.EIO, "broken"))

    (facts,) = await read_directories(logs)

    assert (facts.free_bytes, facts.total_bytes, facts.used_share) == (None, None, None)


async def test_disk_that_hangs_is_asked_again_only_after_half_a_minute(
    autojump_clock: MockClock, world: SimulatedWorld
) -> None:
    await format_directory(world, "/data")
    logs = await started(world)
    world.universe.fault = fault_on("space", 5.0)
    began = trio.current_time()
    (hanging,) = await read_directories(logs)
    waited_s = trio.current_time() - began
    world.universe.fault = fault_on("none", None)
    (early,) = await read_directories(logs)
    await trio.sleep(AGAIN_S)
    (late,) = await read_directories(logs)

    assert waited_s == pytest.approx(LONGEST_S)
    assert hanging.free_bytes is early.free_bytes is None
    assert late.free_bytes is not None
