"""Volume that all files opened through one directory share."""

import errno
import os
import threading

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real.volume import Volume


async def test_volume_runs_at_most_its_number_of_threads_at_once(nursery):
    volume = Volume(SkippingClock(), 2)
    gate, working = threading.Event(), []

    def work():
        working.append(1)
        gate.wait()

    for _ in range(5):
        nursery.start_soon(volume.run, work)
    with trio.fail_after(30):
        while volume.limiter.statistics().tasks_waiting < 3 or len(working) < 2:
            await trio.sleep(0.001)

    assert len(working) == 2
    assert volume.clock.in_flight == 5
    gate.set()


async def test_call_in_a_thread_counts_as_in_flight_on_the_clock():
    volume = Volume(SkippingClock(), 1)

    assert await volume.run(lambda: volume.clock.in_flight) == 1
    assert volume.clock.in_flight == 0


async def test_shielded_call_runs_though_cancelled_and_an_unshielded_call_does_not():
    volume = Volume(SkippingClock(), 1)
    done = []

    with trio.CancelScope() as scope:
        scope.cancel()
        await volume.run_shielded(done.append, 1)
    with trio.CancelScope() as scope:
        scope.cancel()
        await volume.run(done.append, 2)

    assert done == [1]
    assert scope.cancelled_caught


def test_nowait_support_of_the_file_system_is_tested_once(tmp_path, monkeypatch):
    requests = []

    def refuse(*args):
        requests.append(args)
        raise OSError(errno.EOPNOTSUPP, "refused")

    monkeypatch.setattr(os, "preadv", refuse)
    volume = Volume(SkippingClock(), 1)

    assert not volume.can_refuse(0)
    assert not volume.can_refuse(0)
    assert len(requests) == 1


def test_nowait_support_is_found_by_a_cold_read_and_other_errors_propagate(monkeypatch):
    def answer(error):
        def preadv(*_):
            raise error

        monkeypatch.setattr(os, "preadv", preadv)
        return Volume(SkippingClock(), 1).can_refuse(0)

    assert answer(BlockingIOError(errno.EAGAIN, "cold"))
    with pytest.raises(OSError, match="disk"):
        answer(OSError(errno.EIO, "disk"))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
async def test_idle_files_are_closed_when_a_call_finds_no_free_descriptor(number):
    volume = Volume(SkippingClock(), 1)
    results, closed = [], []

    def call():
        if not results:
            raise OSError(number, "none")
        return results.pop()

    def close_idle(count):
        closed.append(count)
        results.append(len(closed))
        return 1

    volume.descriptors.close_idle = close_idle

    assert volume.opened(call) == 1
    assert await volume.opened_slow(call) == 2


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
async def test_error_is_raised_when_closing_idle_files_does_not_help(number):
    volume, calls = Volume(SkippingClock(), 1), []

    def call():
        calls.append(1)
        raise OSError(number, "error")

    if number == errno.EIO:
        volume.descriptors.close_idle = calls.append

    for attempt in (volume.opened, volume.opened_slow):
        with pytest.raises(OSError, match="error"):
            await attempt(call)

    assert len(calls) == 2
