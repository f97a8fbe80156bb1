"""A moved clock waits for work, beside tasks that keep the loop busy."""

import pytest
import trio

from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld

LONG = 1000  # passes of the loop


async def never_wait() -> None:
    while True:
        await trio.lowlevel.checkpoint()


async def work_long(ended: list[str]) -> None:
    for _ in range(LONG):
        await trio.lowlevel.checkpoint()
    ended.append("work")


def test_advance_waits_for_work_that_a_deadline_started_beside_a_busy_task():
    async def main():
        ended = []

        async def work():
            await trio.sleep(50)
            await work_long(ended)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(never_wait)
            nursery.start_soon(work)
            await trio.sleep(0.001)
            await clock.advance(50)
            nursery.cancel_scope.cancel()
        return ended

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == ["work"]


def test_advance_waits_for_work_that_follows_a_thread_beside_a_busy_task():
    async def main():
        ended = []

        async def work():
            await trio.sleep(50)
            await RealWorld(clock).run_in_thread(int)
            await work_long(ended)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(never_wait)
            nursery.start_soon(work)
            await trio.sleep(0.001)
            await clock.advance(50)
            nursery.cancel_scope.cancel()
        return ended

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == ["work"]


def test_job_that_runs_at_the_start_of_advance_ends_before_the_first_step():
    async def main():
        ended, jobs = [], set()

        async def job():
            jobs.add(trio.lowlevel.current_task())
            await work_long(ended)

        async def look():
            await trio.sleep(50)
            ended.append("deadline")

        async with trio.open_nursery() as nursery:
            nursery.start_soon(look)
            nursery.start_soon(job)
            await trio.sleep(0.001)
            await clock.advance(100, jobs)
        return ended

    clock = SkippingClock()

    assert trio.run(main, clock=clock) == ["work", "deadline"]


def test_timeout_of_advance_names_the_task_that_did_not_end():
    async def main():
        async def work():
            await trio.sleep(50)
            await never_wait()

        async with trio.open_nursery() as nursery:
            nursery.start_soon(work, name="endless")
            await trio.sleep(0.001)
            with pytest.raises(TimeoutError, match=r"did not end within 0\.01 s: endless"):
                await clock.advance(100)
            nursery.cancel_scope.cancel()

    clock = SkippingClock()
    clock.patience_s = 0.01

    trio.run(main, clock=clock)


def test_timeout_of_advance_names_a_thread_that_did_not_end():
    async def main():
        with clock.working(), pytest.raises(TimeoutError, match="a thread"):
            await clock.advance(100)

    clock = SkippingClock()
    clock.patience_s = 0.01

    trio.run(main, clock=clock)
