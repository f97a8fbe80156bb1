"""What everything opened through one directory shares."""

import errno
import os
import threading

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real.volume import Volume


async def test_at_most_so_many_threads_work_at_once(nursery):
    volume = Volume(SkippingClock(), 2)
    gate, working = threading.Event(), []

    def work():
        working.append(1)
        gate.wait()

    for _ in range(5):
        nursery.start_soon(volume.run, work)
    with trio.fail_after(5):
        while volume.limiter.statistics().tasks_waiting < 3 or len(working) < 2:
            await trio.sleep(0.001)

    assert len(working) == 2
    assert volume.clock.in_flight == 5
    gate.set()


async def test_the_clock_is_held_only_while_a_call_is_in_flight():
    volume = Volume(SkippingClock(), 1)

    assert await volume.run(lambda: volume.clock.in_flight) == 1
    assert volume.clock.in_flight == 0


async def test_a_shielded_call_ends_though_it_is_cancelled_and_another_does_not_begin():
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


def test_the_file_system_is_asked_once(tmp_path, monkeypatch):
    asked = []

    def refuse(*args):
        asked.append(args)
        raise OSError(errno.EOPNOTSUPP, "refused")

    monkeypatch.setattr(os, "preadv", refuse)
    volume = Volume(SkippingClock(), 1)

    assert not volume.can_refuse(0)
    assert not volume.can_refuse(0)
    assert len(asked) == 1


def test_a_cold_file_shows_that_reads_can_refuse_and_other_errors_come_through(monkeypatch):
    def answer(error):
        def preadv(*_):
            raise error

        monkeypatch.setattr(os, "preadv", preadv)
        return Volume(SkippingClock(), 1).can_refuse(0)

    assert answer(BlockingIOError(errno.EAGAIN, "cold"))
    with pytest.raises(OSError, match="disk"):
        answer(OSError(errno.EIO, "disk"))


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
async def test_idle_files_are_closed_for_a_call_that_found_no_descriptor(number):
    volume = Volume(SkippingClock(), 1)
    left, closed = [], []

    def call():
        if not left:
            raise OSError(number, "none")
        return left.pop()

    def close_idle(count):
        closed.append(count)
        left.append(len(closed))
        return 1

    volume.descriptors.close_idle = close_idle

    assert volume.opened(call) == 1
    assert await volume.opened_slow(call) == 2


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EIO])
async def test_the_error_is_the_callers_where_nothing_was_closed_or_nothing_helps(number):
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
