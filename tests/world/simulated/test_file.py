"""Simulated files: what is cold, what is full, what stays broken."""

import errno

import pytest
import trio

from trio_kafka.testing.simulation import fault_on, run_simulated
from trio_kafka.world.recent_writes import WINDOW
from trio_kafka.world.simulated import Universe


async def new_file(universe, content=b""):
    file = universe.machine("m").directory("/d", create=True).create("f")
    file.append([content])
    return file


def test_reading_cold_bytes_makes_the_bytes_warm():
    async def main(universe):
        file = await new_file(universe, b"x" * 100)
        file.chill(10)
        buffer = bytearray(100)
        before = file.try_read(0, buffer)
        with pytest.raises(BlockingIOError):
            file.try_read(10, buffer)
        await file.read(5, memoryview(buffer)[:45])
        return before, file.try_read(0, buffer)

    assert run_simulated(main) == (10, 50)


def test_file_is_leased_during_a_read():
    async def main(universe):
        file = await new_file(universe, b"x" * 100)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(file.read, 0, bytearray(100))
            await trio.sleep(1e-5)
            during = file.leased
        return during, file.leased

    assert run_simulated(main) == (True, False)


def test_moody_universe_refuses_or_shortens_warm_reads():
    async def main(universe):
        file = await new_file(universe, b"x" * 10_000)
        result = set()
        for _ in range(200):
            try:
                result.add(file.try_read(0, bytearray(10_000)))
            except BlockingIOError:
                result.add(None)
        return result

    assert run_simulated(main) == {10_000}
    assert len(run_simulated(main, moody=True) - {None, 10_000}) > 2


def test_try_read_without_nowait_support_reads_only_recently_written_bytes():
    async def main(universe):
        file = await new_file(universe, b"x")
        buffer = bytearray(1)
        assert file.try_read(0, buffer) == 1
        file.append([bytes(WINDOW)])
        with pytest.raises(BlockingIOError):
            file.try_read(0, buffer)
        return await file.read(0, buffer)

    assert Universe(nowait=False).run(main) == 1


def test_append_to_a_full_disk_writes_all_or_nothing():
    async def main(universe):
        file = await new_file(universe, b"12345")
        world = universe.machines["m"]
        world.capacity = 8
        with pytest.raises(OSError) as caught:
            file.append([b"6789"])
        file.append([b"678"])
        return caught.value.errno, file.size, world.free_space()

    assert run_simulated(main) == (errno.ENOSPC, 8, 0)


def test_failed_sync_breaks_the_file():
    async def main(universe):
        file = await new_file(universe, b"x")
        universe.fault = fault_on("sync", OSError(errno.EIO, "io"))
        with pytest.raises(OSError, match="io"):
            await file.sync()
        universe.fault = universe.faults
        for wait in (file.sync, lambda: file.read(0, bytearray(1)), lambda: file.append_slow([])):
            with pytest.raises(OSError, match="broken before"):
                await wait()
        for call in (lambda: file.append([b"x"]), lambda: file.truncate(0), lambda: file.lease(0)):
            with pytest.raises(OSError, match="broken before"):
                call()

    run_simulated(main)


def test_bytes_appended_during_a_sync_may_be_lost():
    async def main(universe):
        file = await new_file(universe, b"x")
        world = universe.machines["m"]
        root = world.directory("/d")
        await root.sync()
        universe.at(1e-4, lambda: file.append([b"y"]))
        await file.sync()
        assert file.size == 2
        world.crash(kept=0.0)
        return universe.machine("m").directory("/d").open("f").size

    assert {run_simulated(main, seed) for seed in range(10)} <= {1, 2}
    assert 1 in {run_simulated(main, seed) for seed in range(10)}


def test_stalled_slow_append_does_not_delay_other_tasks():
    async def main(universe):
        file = await new_file(universe)
        universe.fault = fault_on("append", 0.5)
        began, seen = trio.current_time(), []
        async with trio.open_nursery() as nursery:
            nursery.start_soon(file.append_slow, [b"abc"])
            await trio.sleep(0.1)
            seen += [trio.current_time() - began, file.size]
        return [round(seconds, 3) for seconds in seen], trio.current_time() - began > 0.5, file.size

    assert run_simulated(main) == ([0.1, 0], True, 3)
