"""The watchdog: names who blocks, while it blocks, once; and nobody who waits for a processor."""

import logging
import re
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.watchdog import Block, Judge, Verdict, Watchdog
from trio_kafka.scheduling.loop_budget import LoopBudget
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import SkippingClock
from trio_kafka.world.real import RealWorld
from trio_kafka.world.world import World

LIMIT_S = 0.05
OWNERS = {__name__: "a-plugin"}
PATIENCE_S = 20.0  # of a test, on a busy machine


# --- the judge


def test_pass_that_reaches_the_limit_is_reported_once() -> None:
    judge = Judge(1.0)

    assert judge.runs(7, 10.0, 10.1, starved_s=0.0) == 0.5
    assert judge.runs(7, 10.0, 10.6, starved_s=0.0) == pytest.approx(0.4)
    assert judge.runs(7, 10.0, 11.0, starved_s=0.0) is Verdict.BLOCKED
    assert judge.runs(7, 10.0, 12.0, starved_s=0.0) == 0.5
    assert (
        judge.runs(8, 12.0, 13.1, starved_s=0.0) == 0.5
    )  # seen for the first time: maybe all stood still
    assert judge.runs(8, 12.0, 13.7, starved_s=0.0) is Verdict.BLOCKED


def test_pass_that_waits_for_a_processor_is_reported_after_half_the_limit_of_cpu_time() -> None:
    judge = Judge(1.0)
    judge.runs(7, 10.0, 10.0, starved_s=5.0)

    assert judge.runs(7, 10.0, 11.0, starved_s=5.9) == pytest.approx(0.4)
    assert judge.runs(7, 10.0, 12.0, starved_s=6.9) == pytest.approx(0.4)
    assert judge.runs(7, 10.0, 13.0, starved_s=7.4) is Verdict.BLOCKED


def test_watchdog_sleeps_when_the_loop_slept_between_two_checks() -> None:
    judge = Judge(1.0)

    assert judge.sleeps(1) == 0.5
    assert judge.sleeps(2) == 0.5  # passes came and went
    assert judge.sleeps(2) is Verdict.SLEEP
    assert judge.runs(3, 1.0, 1.1, starved_s=0.0) == 0.5
    assert judge.sleeps(3) == 0.5
    assert judge.sleeps(3) is Verdict.SLEEP


@given(st.lists(st.tuples(st.booleans(), st.floats(0.001, 0.5)), max_size=50))
def test_short_passes_are_never_reported_and_checks_are_at_most_half_the_limit_apart(
    passes: list[tuple[bool, float]],
) -> None:
    judge, now = Judge(1.0), 0.0
    for number, (sleeps, took) in enumerate(passes):
        began, now = now, now + took
        verdict = judge.sleeps(number) if sleeps else judge.runs(number, began, now, starved_s=0.0)
        assert isinstance(verdict, float)
        assert 0 < verdict <= 0.5


@given(st.floats(0.0, 0.499), st.floats(0.0, 0.5))
def test_block_is_reported_when_the_limit_is_reached(first: float, phase: float) -> None:
    """Whenever it was seen first, within half a limit of its beginning."""
    judge, now = Judge(1.0), 100.0 + first
    while (verdict := judge.runs(1, 100.0, now, starved_s=phase)) is not Verdict.BLOCKED:
        assert isinstance(verdict, float)
        now += verdict

    assert now == pytest.approx(101.0, abs=0.01)


# --- the thread


@asynccontextmanager
async def watched(
    world: World, budget: LoopBudget | None = None
) -> AsyncIterator[tuple[Watchdog, Node, list[Block]]]:
    blocks: list[Block] = []
    budget, node = budget or LoopBudget(world.clock.elapsed), Node("broker", "broker")
    watchdog = Watchdog(
        world=world,
        loop=budget,
        node=node,
        limit_s=LIMIT_S,
        owner_of=OWNERS.get,
        on_block=blocks.append,
    )
    with budget.installed():
        async with trio.open_nursery() as nursery:
            await nursery.start(watchdog.run)
            yield watchdog, node, blocks
            nursery.cancel_scope.cancel()


def block_until(condition: Callable[[], object]) -> None:
    """Blocks the loop, as a plugin might."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "nobody was named"
        sum(range(1000))


async def until(condition: Callable[[], object]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not condition():
            await trio.sleep(0.001)


async def test_blocking_task_is_logged_with_its_stack_while_blocking(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def culprit() -> None:
        block_until(lambda: caplog.records)
        named.extend(caplog.records)  # it is still blocked here

    named: list[logging.LogRecord] = []
    async with watched(RealWorld(SkippingClock())) as (watchdog, node, blocks):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(culprit, name="the-culprit")
        await until(lambda: blocks)

    (record,) = named
    fields = record.fields  # type: ignore[attr-defined]
    assert record.message == "loop blocked"
    assert fields["task"] == "the-culprit"
    assert re.search(r"test_watchdog:\d+ \S*culprit", fields["stack"])
    assert fields["since_ms"] >= LIMIT_S * 1e3
    (block,) = blocks
    assert (watchdog.blocks, block.task) == (1, "the-culprit")
    assert (block.owner, fields["plugin"]) == ("a-plugin", "a-plugin")
    assert block.seconds >= LIMIT_S
    figures = node.children[0].figures()
    assert figures["longest_ms"] == block.seconds * 1e3
    assert figures["last_task"] == "the-culprit"
    assert 0.0 <= figures["last_ago_s"] < PATIENCE_S


async def test_each_block_is_reported_once_and_the_longest_duration_is_kept(
    caplog: pytest.LogCaptureFixture,
) -> None:
    async with watched(RealWorld(SkippingClock())) as (watchdog, _, blocks):
        for number in (1, 2):
            caplog.clear()
            block_until(lambda: caplog.records)
            end = time.monotonic() + LIMIT_S * number * 2  # goes on: not named again
            block_until(lambda end=end: time.monotonic() > end)  # type: ignore[misc]
            assert len(caplog.records) == 1
            await until(lambda number=number: len(blocks) == number)  # type: ignore[misc]

    assert watchdog.blocks == 2
    assert watchdog.longest_s == max(block.seconds for block in blocks)


class Rousing(LoopBudget):
    """Tells whether it was to rouse somebody when a pass began."""

    roused = False

    def after_io_wait(self, timeout: float) -> None:
        self.roused = self.roused or self.on_begin is not None
        super().after_io_wait(timeout)


async def test_watchdog_thread_sleeps_with_the_loop_until_a_pass_wakes_the_thread(
    caplog: pytest.LogCaptureFixture,
) -> None:
    world = RealWorld(SkippingClock())
    budget = Rousing(world.clock.elapsed)
    async with watched(world, budget):
        with trio.fail_after(PATIENCE_S):
            while not budget.roused:
                await trio.sleep(LIMIT_S * 3)

        block_until(lambda: caplog.records)


async def test_watchdog_reports_nothing_in_a_simulated_world(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with watched(simulated_world()) as (watchdog, _, blocks):
        await trio.sleep(1000)

    assert (watchdog.blocks, blocks) == (0, [])


async def test_failed_watchdog_callback_is_raised_by_the_watchdog(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(block: Block) -> None:
        raise ValueError(block.task)

    world = RealWorld(SkippingClock())
    budget = LoopBudget(world.clock.elapsed)
    node = Node("broker", "broker")
    watchdog = Watchdog(
        world=world, loop=budget, node=node, limit_s=LIMIT_S, owner_of=OWNERS.get, on_block=fail
    )
    with budget.installed(), pytest.RaisesGroup(ValueError, flatten_subgroups=True):
        async with trio.open_nursery() as nursery:
            await nursery.start(watchdog.run)
            block_until(lambda: caplog.records)
            await trio.sleep(PATIENCE_S)
