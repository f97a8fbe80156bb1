"""Files in memory: lives of a disk, faults, capacity. The contract is that of all worlds."""

import errno
from random import Random

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.in_memory import InMemoryWorld, MemoryDisk
from trio_kafka.world.simulated.faults import CallFault
from trio_kafka.world.world import Crashed


@pytest.fixture
def clock() -> SkippingClock:
    return SkippingClock()


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def world_on(clock: SkippingClock, disk: MemoryDisk) -> InMemoryWorld:
    return InMemoryWorld(clock, disk=disk)


async def content(disk: MemoryDisk, clock: SkippingClock, name: str) -> bytes:
    file = world_on(clock, disk).directory("/data").open(name)
    buffer = bytearray(file.size)
    assert await file.read(0, buffer) == file.size
    return bytes(buffer)


async def test_crash_of_a_memory_disk_keeps_written_bytes_and_ends_each_call(clock, disk):
    directory = world_on(clock, disk).directory("/data", create=True)
    file = directory.create("a")
    file.append([b"written"])
    directory.lock("lock")
    disk.crash()
    for call in (lambda: file.append([b"x"]), directory.names, lambda: file.truncate(0)):
        with pytest.raises(Crashed):
            call()
    with pytest.raises(Crashed):
        await file.sync()

    after = disk.next_life()
    assert await content(after, clock, "a") == b"written"
    world_on(clock, after).directory("/data").lock("lock")


async def test_power_loss_of_a_memory_disk_keeps_only_synced_bytes(clock, disk):
    directory = world_on(clock, disk).directory("/data", create=True)
    synced, unsynced = directory.create("synced"), directory.create("unsynced")
    for file in (synced, unsynced):
        file.append([b"a"])
    await synced.sync()
    await directory.sync()
    unsynced.append([b"b" * 2000])
    disk.lose_power(Random(1), kept=0)
    after = disk.next_life()
    assert await content(after, clock, "synced") == b"a"
    assert await content(after, clock, "unsynced") != b"a" + b"b" * 2000


async def test_append_beyond_the_capacity_of_a_memory_disk_raises_enospc(clock, disk):
    disk.capacity = 100
    directory = world_on(clock, disk).directory("/data", create=True)
    file = directory.create("a")
    file.append([b"x" * 60])
    assert disk.free_space() == 40
    with pytest.raises(OSError, match="No space left") as caught:
        file.append([b"x" * 41])
    assert caught.value.errno == errno.ENOSPC
    assert file.size == 60


async def test_fault_function_makes_calls_on_a_memory_disk_fail_or_last(clock, disk):
    calls = []

    def fault(machine: str, call: str, path: str) -> float | OSError | None:
        calls.append((machine, call))
        if call == "append":
            return OSError(errno.EIO, "broken")
        return 60.0 if call == "names" else None

    directory = world_on(clock, disk).directory("/data", create=True)
    file = directory.create("a")
    disk.fault = fault
    with pytest.raises(OSError, match="broken"):
        file.append([b"x"])
    async with trio.open_nursery() as nursery:
        nursery.start_soon(directory.names_slow)
        await trio.testing.wait_all_tasks_blocked()
        began = trio.current_time()
        await clock.advance(60)
    assert trio.current_time() - began >= 60
    assert ("memory", "append") in calls


async def test_process_job_reads_the_files_in_memory(clock, disk):
    world = world_on(clock, disk)
    world.directory("/data", create=True).create("a").append([b"abc"])

    def job(directory, name):
        file = directory.open(name)
        yield
        return file.size

    assert await world.run_in_process(job, "/data", "a") == 3


async def test_fault_rules_of_a_simulated_disk_hold_for_a_memory_disk(clock, disk):
    directory = world_on(clock, disk).directory("/data", create=True)
    disk.faults.add(CallFault(call="create", target="*.log", error="ENOSPC", times=1))
    disk.faults.add(CallFault(call="sync", power_loss=0.0))

    with pytest.raises(OSError, match="No space left"):
        directory.create("a.log")
    file = directory.create("a.log")
    await directory.sync()
    file.append([b"x"])
    with pytest.raises(Crashed):
        await file.sync()

    after = disk.next_life()
    assert await content(after, clock, "a.log") == b""
    assert after.faults is disk.faults
