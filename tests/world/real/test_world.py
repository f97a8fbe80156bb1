"""One real machine."""

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import WorkerLostError


async def test_run_in_thread_is_not_abandoned_on_cancellation_and_holds_the_clock():
    world = RealWorld(SkippingClock())
    done = []

    def work():
        done.append((threading.current_thread() is threading.main_thread(), world.clock.in_flight))

    with trio.CancelScope() as scope:
        scope.cancel()
        await world.run_in_thread(work)

    assert done == [(False, 1)]


async def test_run_beside_leaves_its_thread_running_when_cancelled():
    world = RealWorld(SkippingClock())
    began, go_on, ended = threading.Event(), threading.Event(), threading.Event()
    usual, seen = sys.getswitchinterval(), []

    def work():
        seen.append(sys.getswitchinterval())
        began.set()
        go_on.wait(20)
        ended.set()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(world.run_beside, work)
        await trio.to_thread.run_sync(began.wait, 20)
        nursery.cancel_scope.cancel()

    assert world.clock.in_flight == 0
    assert not ended.is_set()
    go_on.set()
    assert ended.wait(20)
    assert seen[0] < usual


def test_importing_the_world_does_not_import_trio_parallel():
    code = "import sys, trio_kafka.world.real; print('trio_parallel' in sys.modules)"

    result = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)

    assert result.stdout == b"False\n"


def read_all(directory):
    """A job that reads what is cold."""
    yield
    file = directory.open("f")
    os.posix_fadvise(file.lease(0).key, 0, 0, os.POSIX_FADV_DONTNEED)
    return file.try_read(0, bytearray(file.size))


@pytest.mark.slow
async def test_try_read_of_cold_bytes_waits_in_a_worker_process(tmp_path):
    world = RealWorld()
    file = world.directory(str(tmp_path)).create("f")
    file.append([bytes(1 << 20)])
    await file.sync()
    file.close()

    assert await world.run_in_process(read_all, str(tmp_path)) == 1 << 20


def spin(directory):
    """A job that never ends by itself; it leaves a sign that it has begun."""
    directory.create("begun").close()
    while True:
        time.sleep(0.001)
        yield


@pytest.mark.slow
async def test_worker_process_of_a_cancelled_job_is_killed(tmp_path):
    world = RealWorld(SkippingClock())

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(world.run_in_process, spin, str(tmp_path))
            while not (tmp_path / "begun").exists():
                await trio.sleep(0.005)
            nursery.cancel_scope.cancel()

    assert world.clock.in_flight == 0


@pytest.mark.slow
async def test_killed_worker_process_raises_worker_lost_error(tmp_path):
    world = RealWorld()
    lost = []

    async def work():
        try:
            await world.run_in_process(spin, str(tmp_path))
        except WorkerLostError as error:
            lost.append(str(error))

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(work)
            while not (tmp_path / "begun").exists():
                await trio.sleep(0.005)
            for worker in workers():
                os.kill(worker, signal.SIGKILL)

    assert lost == [f"the worker process for {tmp_path} has ended"]


@pytest.mark.slow
async def test_kept_worker_processes_end_with_their_block(tmp_path):
    world, before = RealWorld(), set(workers())
    (tmp_path / "f").write_bytes(b"12345")

    async with world.kept_workers():
        assert await world.run_in_process(read_all, str(tmp_path)) == 5
        (kept,) = set(workers()) - before
        assert await world.run_in_process(read_all, str(tmp_path)) == 5
        assert set(workers()) - before == {kept}

    assert not set(workers()) - before


async def test_a_program_that_embeds_a_broker_starts_no_processes():
    world = RealWorld(workers=False)

    assert RealWorld().has_processes
    assert not world.has_processes
    with pytest.raises(ImportError, match="embeds a broker"):
        async with world.kept_workers():
            pass


def workers():
    """Ids of the worker processes of this one."""
    children = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    return [
        int(child) for some in children for child in some if "spawn_main" in read_command(child)
    ]


def read_command(pid):
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace")
    except OSError:
        return ""
