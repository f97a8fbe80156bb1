"""Runs in a worker process and in slices, and their rate."""

import os
import signal

import pytest
import trio

from tests.log.cleaner.kit import data_batch, new_directory, rules, write_segments
from tests.log.cleaner.logs import content, fill_log, managed, new_cleaner, new_log
from trio_kafka.log.cleaner.job import CleaningJob
from trio_kafka.log.cleaner.runner import Progress, _work, run_job
from trio_kafka.records.batch import Record
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import WorkerLostError


class Slices(RealWorld):
    """A machine without the extra `[workers]`."""

    has_processes = False


async def on_disk(world, path, *, rounds=40):
    """A compacted log in a directory of the real disk."""
    manager = await managed(world, root=str(path), segment_bytes=20_000)
    log = new_log(manager, segment_bytes=20_000)
    fill_log(log, keys=50, rounds=rounds)
    return manager, log


@pytest.mark.slow
@pytest.mark.parametrize("kind", [RealWorld, Slices])
async def test_log_is_compacted_with_and_without_worker_processes(tmp_path, kind):
    world = kind()
    manager, log = await on_disk(world, tmp_path)
    before, size = await content(log), log.size

    cleaned = await new_cleaner(manager).clean_now(log)

    assert cleaned is not None
    assert await content(log) == before
    assert log.size < size / 4
    await manager.close()


@pytest.mark.slow
async def test_log_is_unchanged_after_its_cleaning_worker_is_killed(tmp_path, caplog):
    manager, log = await on_disk(RealWorld(), tmp_path)
    before, size = await content(log), log.size
    cleaner = new_cleaner(manager, io_max_bytes_per_second=1000.0)
    done = []

    async def clean():
        done.append(await cleaner.clean_now(log))

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(clean)
            while not (workers := workers_with_files(tmp_path)):
                await trio.sleep(0.01)
            for pid in workers:
                os.kill(pid, signal.SIGKILL)

    assert done == [None]
    assert "cleaning abandoned" in caplog.text
    assert (log.size, await content(log)) == (size, before)
    assert not [name for name in log.directory.names() if name.endswith(".cleaned")]
    assert not cleaner.states.uncleanable
    cleaner.configure(type(cleaner.settings)())
    assert await cleaner.clean_now(log) is not None
    await manager.close()


def workers_with_files(path):
    """Processes, other than this one, with open files in a directory."""
    result = set()
    for pid in filter(str.isdecimal, os.listdir("/proc")):
        if int(pid) == os.getpid():
            continue
        try:
            names = [
                os.readlink(f"/proc/{pid}/fd/{descriptor}")
                for descriptor in os.listdir(f"/proc/{pid}/fd")
            ]
        except OSError:
            continue
        if any(name.startswith(str(path)) for name in names):
            result.add(int(pid))
    return result


@pytest.mark.slow
async def test_a_cancelled_run_ends_its_worker(tmp_path):
    manager, log = await on_disk(RealWorld(), tmp_path)
    cleaner = new_cleaner(manager, io_max_bytes_per_second=1000.0)

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cleaner.clean_now, log)
            while not workers_with_files(tmp_path):
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()

    assert not workers_with_files(tmp_path)
    assert not [name for name in log.directory.names() if name.endswith(".cleaned")]
    await manager.close()


@pytest.mark.slow
async def test_worker_of_a_deleted_log_ends_and_spares_the_new_log_of_its_name(tmp_path):
    manager, log = await on_disk(RealWorld(), tmp_path)
    cleaner = new_cleaner(manager, io_max_bytes_per_second=log.size * 1.5)

    with trio.fail_after(30):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(cleaner.clean_now, log)
            while not any(name.endswith(".cleaned") for name in log.directory.names()):
                await trio.sleep(0.001)
            manager.delete(log.partition)
            new = new_log(manager)
            fill_log(new, rounds=3)

    assert not workers_with_files(tmp_path)
    assert [name for name in new.directory.names() if name.endswith(".cleaned")] == []
    assert not cleaner.states.uncleanable
    manager.abandon()


def a_job(directory):
    records = [
        Record(timestamp=1, key=b"k%d" % (number % 9), value=bytes(50)) for number in range(90)
    ]
    batches = [
        data_batch(10 * number, records[10 * number : 10 * number + 10]) for number in range(9)
    ]
    segments = write_segments(directory, {0: batches})
    return CleaningJob(
        rules=rules(), segments=segments, first_dirty_offset=0, first_uncleanable_offset=90
    )


async def test_run_in_slices_does_not_exceed_its_bytes_per_second(autojump_clock, world):
    directory = new_directory()
    job, progress = a_job(directory), Progress()
    began = trio.current_time()

    await run_job(world, directory, job, bytes_per_second=1000.0, progress=progress)

    assert progress.moved > 10_000
    assert trio.current_time() - began == pytest.approx(progress.moved / 1000.0)
    assert progress.throttled_s > 1


def test_worker_yields_the_time_at_which_its_rate_lets_the_next_step_begin():
    directory = new_directory()
    job = a_job(directory)

    times = list(_work(directory, job, 1000.0))

    assert times == sorted(times)
    assert times[-1] > 10
    assert set(_work(directory, job, None)) == {None}


@pytest.mark.slow
async def test_job_in_a_killed_process_raises_worker_lost_error(tmp_path):
    with pytest.raises(WorkerLostError):
        await RealWorld().run_in_process(_killed, str(tmp_path))


def _killed(directory):
    os.kill(os.getpid(), signal.SIGKILL)
    yield None
