"""A task that lends its name: what is run in it, and what it waits for, is its own."""

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.world.lending import KNOWN, AbortFunction, Lender, RaiseCancel, abort_of, pass_on

NAME: ContextVar[str] = ContextVar("NAME", default="nobody")


class Runner:
    """Runs a coroutine by hand to its first wait, and leaves the rest to its task."""

    def __init__(self) -> None:
        self.lender: Lender
        self.abort: AbortFunction | None = None
        self.coroutine: Any = None
        self.results: list[object] = []

    async def run(self, task_status: trio.TaskStatus[None]) -> None:
        def abort(raise_cancel: RaiseCancel) -> trio.lowlevel.Abort:
            assert self.abort is not None
            return self.abort(raise_cancel)

        self.lender = Lender(abort)
        task_status.started()
        await self.lender.sleep()
        while True:
            try:
                trap = self.coroutine.send(self.lender.given)
            except StopIteration as stop:
                self.results.append(stop.value)
                return
            self.lender.given = await pass_on(trap)

    def begin(self, function: Callable[[], Any]) -> None:
        self.coroutine = function()
        lender, send = self.lender, self.coroutine.send
        before, lender.names["task"] = lender.names["task"], lender.task
        try:
            trap = lender.enter(send, None)
        finally:
            lender.names["task"] = before
        self.abort = abort_of(trap)
        if self.abort is None:
            self.lender.wake()
        else:
            self.lender.settle()


async def begun(nursery: trio.Nursery, function: Callable[[], Any]) -> Runner:
    runner = Runner()
    await nursery.start(runner.run)
    await wait_all_tasks_blocked()
    runner.begin(function)
    return runner


def test_the_trio_that_is_installed_has_what_lending_needs() -> None:
    assert KNOWN


async def test_whoever_runs_as_a_task_is_that_task_and_the_runner_is_itself_again(
    autojump_clock: MockClock,
) -> None:
    tasks: list[trio.lowlevel.Task] = []

    async def function() -> str:
        tasks.append(trio.lowlevel.current_task())
        NAME.set("somebody")
        await trio.lowlevel.checkpoint()
        tasks.append(trio.lowlevel.current_task())
        return NAME.get()

    me = trio.lowlevel.current_task()
    async with trio.open_nursery() as nursery:
        runner = await begun(nursery, function)
        assert trio.lowlevel.current_task() is me
        assert NAME.get() == "nobody"
    assert tasks == [runner.lender.task] * 2
    assert runner.results == ["somebody"]


async def test_what_it_waits_for_wakes_its_task(autojump_clock: MockClock) -> None:
    event = trio.Event()

    async def function() -> float:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trio.sleep, 2)
            await event.wait()
        with trio.move_on_after(3):
            await trio.sleep_forever()
        return trio.current_time()

    began = trio.current_time()
    async with trio.open_nursery() as nursery:
        runner = await begun(nursery, function)
        await trio.sleep(1)
        assert runner.results == []
        event.set()
    assert runner.results == [began + 5]


async def test_a_scope_that_was_cancelled_while_it_ran_by_hand_ends_its_wait(
    autojump_clock: MockClock,
) -> None:
    async def function() -> str:
        with trio.CancelScope() as scope:
            scope.cancel()
            await trio.sleep_forever()
        with trio.CancelScope() as scope:  # and one that is over harms nobody
            scope.cancel()
        await trio.sleep(1)
        return "goes on"

    async with trio.open_nursery() as nursery:
        runner = await begun(nursery, function)
        assert runner.lender.missed is False
    assert runner.results == ["goes on"]


async def test_one_that_missed_nothing_it_waits_under_can_still_be_cancelled(
    autojump_clock: MockClock,
) -> None:
    """Trio asks the abort function of a wait once: it was asked while somebody ran as the task."""
    ends: list[str] = []

    async def function() -> None:
        with trio.CancelScope() as scope:
            scope.cancel()
        try:
            await trio.sleep_forever()
        finally:
            ends.append("ended")

    with trio.move_on_after(1):
        async with trio.open_nursery() as nursery:
            await begun(nursery, function)
    assert ends == ["ended"]
