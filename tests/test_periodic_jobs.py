import logging
from contextlib import asynccontextmanager
from math import inf

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.errors import InvariantError
from trio_kafka.introspect.tree import Node
from trio_kafka.periodic_jobs import JobNotRunError, Scheduler, UnknownJobError


def new_scheduler():
    return Scheduler(Node("broker-1", "broker"))


class Runs:
    """A job that notes when it ran."""

    def __init__(self):
        self.at = []

    def __call__(self):
        self.at.append(round(trio.current_time(), 6))


async def test_a_job_runs_first_after_its_delay_and_then_every_interval(autojump_clock):
    scheduler, job = new_scheduler(), Runs()
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        scheduler.every("retention", 10, job, delay_s=3)

        await trio.sleep(34)
        nursery.cancel_scope.cancel()

    assert job.at == [3, 13, 23, 33]


async def test_first_run_is_after_one_interval_by_default(autojump_clock):
    scheduler, job = new_scheduler(), Runs()
    scheduler.every("retention", 10, job)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)

        await trio.sleep(21)
        nursery.cancel_scope.cancel()

    assert job.at == [10, 20]


async def test_added_job_wakes_the_sleeping_scheduler(autojump_clock):
    scheduler, late, soon = new_scheduler(), Runs(), Runs()
    scheduler.every("late", 1000, late)
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        await wait_all_tasks_blocked()

        scheduler.every("soon", 1, soon)
        await trio.sleep(1.5)
        nursery.cancel_scope.cancel()

    assert soon.at == [1]


async def test_nearly_due_jobs_run_together_in_a_single_wake(autojump_clock):
    scheduler, first, second = new_scheduler(), Runs(), Runs()
    scheduler.every("first", 10, first)
    scheduler.every("second", 10, second, delay_s=10.9)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)

        await trio.sleep(35)
        assert scheduler.node.figures()["wakes"] == 3
        nursery.cancel_scope.cancel()

    assert first.at == second.at == [10, 20, 30]


async def test_job_with_early_s_0_does_not_run_early(autojump_clock):
    scheduler, first, second = new_scheduler(), Runs(), Runs()
    scheduler.every("first", 10, first)
    scheduler.every("second", 10, second, delay_s=10.9, early_s=0)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)

        await trio.sleep(12)
        nursery.cancel_scope.cancel()

    assert (first.at, second.at) == ([10], [10.9])


async def test_single_job_never_runs_early(autojump_clock):
    scheduler, job = new_scheduler(), Runs()
    scheduler.every("idle", 4, job)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(3.8)
        scheduler.wake()
        await trio.sleep(0.4)
        nursery.cancel_scope.cancel()

    assert job.at == [4]


async def test_unarmed_job_does_not_run_until_armed(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()
    job = scheduler.every("expiry", 5, runs, armed=False)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(100)
        assert (job.armed, runs.at, scheduler.node.figures()["wakes"]) == (False, [], 0)

        job.arm(2)
        await trio.sleep(3)
        job.disarm()
        await trio.sleep(100)
        nursery.cancel_scope.cancel()

    assert runs.at == [102]


async def test_arming_an_armed_job_makes_its_run_earlier_but_never_later(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()
    job = scheduler.every("flush", 10, runs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(1)

        job.arm(2)
        job.arm(8)
        await trio.sleep(3)
        nursery.cancel_scope.cancel()

    assert runs.at == [3]


async def test_a_job_may_disarm_itself(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()

    def once():
        runs()
        job.disarm()

    job = scheduler.every("once", 1, once)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(10)
        nursery.cancel_scope.cancel()

    assert runs.at == [1]


async def test_async_jobs_are_awaited_and_their_duration_is_seen(autojump_clock):
    scheduler = new_scheduler()

    async def slow():
        await trio.sleep(2)

    scheduler.every("slow", 10, slow)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        (node,) = scheduler.node.children
        await trio.sleep(11)
        running = dict(node.figures())
        await trio.sleep(4)
        ended = dict(node.figures())
        nursery.cancel_scope.cancel()

    assert (running["running"], running["runs"]) == (True, 1)
    assert ended == {
        "interval_s": 10,
        "next_in_s": 5,
        "last_ago_s": 5,
        "last_took_s": 2,
        "running": False,
        "runs": 1,
        "failures": 0,
        "last_error": None,
    }


async def test_job_longer_than_its_interval_does_not_stop_other_jobs(autojump_clock):
    scheduler, other = new_scheduler(), Runs()

    async def slow():
        await trio.sleep(5)

    scheduler.every("slow", 2, slow)
    scheduler.every("other", 4, other)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(20)
        nursery.cancel_scope.cancel()

    assert other.at == [7, 12, 17]


async def test_a_job_that_raises_is_logged_and_counted_and_runs_again(autojump_clock, caplog):
    scheduler, other = new_scheduler(), Runs()

    def broken():
        raise OSError("no such directory")

    scheduler.every("broken", 1, broken)
    scheduler.every("other", 1, other)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(2.5)
        figures = scheduler.node.children[0].figures()
        nursery.cancel_scope.cancel()

    assert other.at == [1, 2]
    assert (figures["runs"], figures["failures"]) == (2, 2)
    assert figures["last_error"] == "OSError: no such directory"
    assert [(r.levelno, r.fields["job"]) for r in caplog.records] == [(logging.ERROR, "broken")] * 2


@pytest.mark.parametrize(
    "error", [InvariantError("hole"), ExceptionGroup("g", [InvariantError("hole")])]
)
async def test_broken_invariant_in_a_job_ends_the_scheduler(error, autojump_clock):
    scheduler = new_scheduler()

    def broken():
        raise error

    scheduler.every("broken", 1, broken)
    with pytest.raises(type(error)):
        await scheduler.run()


async def test_a_cancelled_job_leaves_the_tree_and_never_runs_again(autojump_clock):
    scheduler, runs, other = new_scheduler(), Runs(), Runs()
    job = scheduler.every("gone", 1, runs)
    scheduler.every("other", 2, other)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(1.5)
        job.cancel()
        job.cancel()
        await trio.sleep(3)
        nursery.cancel_scope.cancel()

    assert (runs.at, other.at) == ([1], [2, 4])
    assert [node.name for node in scheduler.node.children] == ["other"]
    with pytest.raises(ValueError, match="gone was cancelled"):
        job.arm()


async def test_cancelling_a_job_ends_its_current_run_and_no_other_job(autojump_clock):
    scheduler, other = new_scheduler(), Runs()
    job = scheduler.every("stuck", 1, trio.sleep_forever)
    scheduler.every("other", 2, other)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(5)
        assert other.at == []
        job.cancel()
        await trio.sleep(1)
        nursery.cancel_scope.cancel()

    assert other.at == [5]


async def test_job_cancelled_by_an_earlier_job_of_the_same_wake_does_not_run(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()

    def cancel_second():
        second.cancel()

    scheduler.every("first", 1, cancel_second)
    second = scheduler.every("second", 1, runs)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scheduler.run)
        await trio.sleep(1.5)
        nursery.cancel_scope.cancel()

    assert runs.at == []


async def test_name_of_a_job_can_be_used_again_only_after_its_cancellation():
    scheduler = new_scheduler()
    job = scheduler.every("one", 1, Runs())
    with pytest.raises(ValueError, match="job one exists already"):
        scheduler.every("one", 1, Runs())

    job.cancel()

    assert scheduler.every("one", 1, Runs()).armed


@pytest.mark.parametrize(("interval_s", "early_s"), [(0, None), (-1, None), (5, 5), (5, -1)])
async def test_interval_without_a_pause_between_runs_is_refused(interval_s, early_s):
    with pytest.raises(ValueError, match="interval"):
        new_scheduler().every("spin", interval_s, Runs(), early_s=early_s)


async def test_ended_scheduler_is_removed_from_the_tree(autojump_clock):
    root = Node("broker-1", "broker")
    scheduler = Scheduler(root)
    with trio.move_on_after(1):
        await scheduler.run()

    assert root.children == ()


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 60)), min_size=1, max_size=6),
    st.integers(1, 300),
)
def test_every_job_runs_as_often_as_its_interval_says_and_never_earlier_than_allowed(jobs, span):
    async def main():
        scheduler = new_scheduler()
        runs = []
        for i, (interval, delay) in enumerate(jobs):
            runs.append(Runs())
            scheduler.every(f"job-{i}", interval, runs[-1], delay_s=delay)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(scheduler.run)
            await trio.sleep(span + 0.5)
            nursery.cancel_scope.cancel()
        return [r.at for r in runs]

    for (interval, delay), at in zip(
        jobs, trio.run(main, clock=MockClock(autojump_threshold=0)), strict=True
    ):
        due = [float(delay), *(t + interval for t in at)]
        assert all(
            d - interval * 0.1 - 1e-6 <= t <= d + 1e-6 for t, d in zip(at, due, strict=False)
        )
        assert due[len(at)] > span + 0.5 - 1e-6


@asynccontextmanager
async def running_scheduler():
    scheduler = new_scheduler()
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        yield scheduler
        nursery.cancel_scope.cancel()


async def test_run_now_runs_a_job_and_leaves_its_next_run_unchanged(autojump_clock):
    job = Runs()
    async with running_scheduler() as scheduler:
        scheduler.every("retention", 10, job)
        await trio.sleep(4)

        run = await scheduler.run_now("retention")
        await trio.sleep(17)

    assert (run.name, run.took_s, run.error) == ("retention", 0, None)
    assert job.at == [4, 10, 20]


async def test_run_now_of_a_disarmed_job_leaves_the_job_disarmed(autojump_clock):
    job = Runs()
    async with running_scheduler() as scheduler:
        handle = scheduler.every("removal", 10, job, armed=False)

        await scheduler.run_now("removal")
        await trio.sleep(100)

        assert not handle.armed
    assert job.at == [0]


async def test_job_that_arms_itself_during_run_now_stays_armed(autojump_clock):
    async with running_scheduler() as scheduler:
        handle = scheduler.every("removal", 10, lambda: handle.arm(3), armed=False)

        await scheduler.run_now("removal")

        assert scheduler.statuses[0].next_in_s == 3


async def test_run_now_waits_for_the_current_run_and_then_for_its_own_run(autojump_clock):
    at = []

    async def slow():
        at.append(trio.current_time())
        await trio.sleep(5)

    async with running_scheduler() as scheduler:
        scheduler.every("slow", 100, slow, delay_s=1)
        await trio.sleep(2)

        run = await scheduler.run_now("slow")

        assert trio.current_time() == 11
    assert (at, run.took_s) == ([1, 6], 5)


async def test_calls_of_run_now_before_a_run_share_the_run_and_later_calls_do_not(autojump_clock):
    runs = []

    async def slow():
        runs.append(trio.current_time())
        await trio.sleep(5)

    async with running_scheduler() as scheduler:
        scheduler.every("slow", 100, slow)
        async with trio.open_nursery() as callers:
            for delay_s in (0, 0, 1, 2):

                async def call(delay_s=delay_s):
                    await trio.sleep(delay_s)
                    await scheduler.run_now("slow")

                callers.start_soon(call)

    assert runs == [0, 5]


async def test_run_now_returns_the_error_of_a_failed_job_and_the_scheduler_keeps_running(
    autojump_clock,
):
    def fail():
        raise OSError("disk")

    async with running_scheduler() as scheduler:
        scheduler.every("bad", 10, fail)

        run = await scheduler.run_now("bad")

        assert run.error == "OSError: disk"
        assert scheduler.statuses[0].failures == 1
        assert (await scheduler.run_now("bad")).error == "OSError: disk"


async def test_due_jobs_run_between_two_calls_of_run_now(autojump_clock):
    often, due = Runs(), Runs()

    async def slow():
        often()
        await trio.sleep(1)

    async with running_scheduler() as scheduler:
        scheduler.every("often", 1000, slow)
        scheduler.every("due", 2, due)
        for _ in range(8):
            await scheduler.run_now("often")

    assert len(due.at) >= 3


async def test_run_now_of_an_unknown_job_lists_the_known_jobs(autojump_clock):
    async with running_scheduler() as scheduler:
        scheduler.every("a", 10, Runs())
        scheduler.every("b", 10, Runs())

        with pytest.raises(UnknownJobError, match="no job 'c': there are a, b"):
            await scheduler.run_now("c")


async def test_run_now_is_refused_if_the_scheduler_is_not_running(autojump_clock):
    async with running_scheduler() as scheduler:
        scheduler.every("a", 10, Runs())

    with pytest.raises(JobNotRunError, match="not running"):
        await scheduler.run_now("a")


async def test_run_now_fails_when_the_scheduler_ends(autojump_clock):
    failed = []
    async with trio.open_nursery() as outer, running_scheduler() as scheduler:
        scheduler.every("long", 10, trio.sleep_forever, delay_s=0)
        scheduler.every("a", 10, Runs())
        await wait_all_tasks_blocked()

        async def call():
            try:
                await scheduler.run_now("a")
            except JobNotRunError as error:
                failed.append(str(error))

        outer.start_soon(call)
        await wait_all_tasks_blocked()

    assert failed == ["job a: it was cancelled, or the scheduler ended"]


async def test_run_now_fails_when_its_job_is_cancelled_before_the_run(autojump_clock):
    async with running_scheduler() as scheduler:
        scheduler.every("slow", 10, lambda: trio.sleep(5), delay_s=0)
        handle = scheduler.every("a", 10, Runs())
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as callers:

            async def call():
                with pytest.raises(JobNotRunError):
                    await scheduler.run_now("a")

            callers.start_soon(call)
            await wait_all_tasks_blocked()
            handle.cancel()


async def test_run_now_within_a_job_is_refused(autojump_clock):
    async with running_scheduler() as scheduler:
        scheduler.every("other", 10, Runs())
        scheduler.every("asks", 10, lambda: scheduler.run_now("other"))

        run = await scheduler.run_now("asks")

    assert run.error is not None
    assert "a job cannot wait for another one" in run.error


async def test_cancelled_call_of_run_now_does_not_cancel_the_job(autojump_clock):
    ended = []

    async def slow():
        await trio.sleep(5)
        ended.append(trio.current_time())

    async with running_scheduler() as scheduler:
        scheduler.every("slow", 100, slow)
        with trio.move_on_after(1):
            await scheduler.run_now("slow")
        await trio.sleep(10)

    assert ended == [5]


async def test_every_job_is_listed_with_its_runs(autojump_clock):
    async with running_scheduler() as scheduler:
        scheduler.every("b", 10, Runs())
        scheduler.every("a", 30, Runs(), armed=False)
        await trio.sleep(12)

        statuses = scheduler.statuses

    assert [(status.name, status.interval_s, status.runs) for status in statuses] == [
        ("a", 30, 0),
        ("b", 10, 1),
    ]
    assert (statuses[0].next_in_s, statuses[0].last_ago_s) == (None, None)
    assert (statuses[1].next_in_s, statuses[1].last_ago_s) == (8, 2)


async def test_due_times_without_work_are_skipped_while_the_clock_advances(autojump_clock):
    """The job is due at 10, 20, 30, ...; it has work from 25 on."""
    scheduler, runs = new_scheduler(), Runs()
    scheduler.every("retention", 10, runs, idle_s=lambda: 25 - trio.current_time())
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        await wait_all_tasks_blocked()

        scheduler.look_ahead(1000)
        await trio.sleep(32)
        assert runs.at == [30]
        scheduler.arrived()
        await trio.sleep(10)
        nursery.cancel_scope.cancel()

    assert runs.at == [30, 40]


async def test_job_without_work_runs_once_at_the_end_of_a_clock_advance(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()
    scheduler.every("checkpoint", 10, runs, idle_s=lambda: inf)
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        await wait_all_tasks_blocked()

        scheduler.look_ahead(95)
        await trio.sleep(96)
        nursery.cancel_scope.cancel()

    assert runs.at == [95]


async def test_job_without_idle_s_runs_at_every_due_time_of_a_clock_advance(autojump_clock):
    scheduler, plain, idle = new_scheduler(), Runs(), Runs()
    scheduler.every("plain", 10, plain)
    scheduler.every("idle", 4, idle, idle_s=lambda: inf)
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        await wait_all_tasks_blocked()

        for _ in range(3):
            scheduler.look_ahead(31)
            await trio.sleep(10)
            await wait_all_tasks_blocked()
        nursery.cancel_scope.cancel()

    assert plain.at[:2] == [10, 20]
    assert idle.at[:2] == [10, 20]


async def test_due_times_are_restored_when_a_clock_advance_ends_early(autojump_clock):
    scheduler, runs = new_scheduler(), Runs()
    scheduler.every("checkpoint", 10, runs, idle_s=lambda: inf)
    async with trio.open_nursery() as nursery:
        await nursery.start(scheduler.run)
        await wait_all_tasks_blocked()

        scheduler.look_ahead(1000)
        scheduler.skipped(1)
        scheduler.arrived()
        await trio.sleep(11)
        nursery.cancel_scope.cancel()

    assert runs.at == [10]
