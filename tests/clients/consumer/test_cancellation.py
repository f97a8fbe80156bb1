"""Cancellation at every await of poll, commit and close: nothing is lost, held or left behind."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack, contextmanager

import pytest
import trio
from attrs import define

from tests.clients.consumer.groups.kit import wait_assigned
from tests.clients.consumer.kit import T0, T1, consumer_of, read, values
from tests.lanes import offset_below
from trio_kafka.clients import RebalanceListener
from trio_kafka.testing.simulate import simulate

PROTOCOLS = {
    "classic": {"heartbeat_interval_ms": 500},
    "cooperative": {
        "heartbeat_interval_ms": 500,
        "partition_assignment_strategy": "cooperative-sticky",
    },
    "consumer": {"group_protocol": "consumer"},
}
MOST = 40  # awaits of a rebalance that are tried: a wait for the other member has any number
LEAST = 3  # awaits of each operation; a test that enumerates fewer proves nothing


@define(eq=False)
class CancelAt(trio.abc.Instrument):
    """Cancels a scope when its task has awaited so many times."""

    task: trio.lowlevel.Task
    scope: trio.CancelScope
    remaining: int

    def after_task_step(self, task: trio.lowlevel.Task) -> None:
        if task is self.task:
            self.remaining -= 1
            if self.remaining == 0:
                self.scope.cancel()


@contextmanager
def cancelled_at(await_number: int, scope: trio.CancelScope) -> Iterator[CancelAt]:
    """Cancel a scope at an await of the block; `remaining` is 0 or less if it came so far."""
    instrument = CancelAt(trio.lowlevel.current_task(), scope, await_number)
    trio.lowlevel.add_instrument(instrument)
    try:
        yield instrument
    finally:
        trio.lowlevel.remove_instrument(instrument)


async def run_cancelled(await_number: int, operation: Callable[[], Awaitable[object]]) -> bool:
    """Run an operation and cancel it at an await; return whether it came so far."""
    with trio.CancelScope() as scope, cancelled_at(await_number, scope) as instrument:
        await operation()
    return instrument.remaining <= 0


def tasks_of(name: str) -> list[str]:
    """Names of all tasks that begin with the id of a client."""
    root = trio.lowlevel.current_root_task()
    tasks, names = [root], []
    while tasks:
        task = tasks.pop()
        names.append(task.name)
        tasks += [child for nursery in task.child_nurseries for child in nursery.child_tasks]
    return [task for task in names if task.startswith(name)]


def hooks() -> RebalanceListener:
    async def pause(partitions):
        await trio.lowlevel.checkpoint()

    return RebalanceListener(on_revoked=pause, on_assigned=pause, on_lost=pause)


async def enumerate_awaits(check: Callable[[int], Awaitable[bool]], stride: int = 1) -> None:
    """Check with a cancellation at each await in turn, until the operation has no more.

    stride: only every nth await, from another first one in each run.
    """
    number = 1 + offset_below(stride)
    while await check(number):
        number += stride
    assert number > LEAST


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_poll_that_is_cancelled_takes_no_record_and_the_next_one_goes_on(protocol):
    """The poll joins, calls hooks, finds positions and reads."""

    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        expected = [b"%d" % n for n in range(12)]
        await sim.kafka.produce("t", *expected)

        async def check(number):
            settings = {**PROTOCOLS[protocol], "group_id": f"g-{number}"}
            async with consumer_of(sim, **settings, enable_auto_commit=False) as consumer:
                consumer.subscribe(["t"], listener=hooks())
                records = []

                async def poll():
                    while not records:
                        records.extend(await consumer.poll(60.0))

                came = await run_cancelled(number, poll)
                records += await read(consumer, 12 - len(records)) if len(records) < 12 else []
                assert sorted(values(records), key=int) == expected
                for at in (T0, T1):
                    offsets = [r.offset for r in records if r.partition == at.partition]
                    assert offsets == list(range(len(offsets)))
                    assert await consumer.position(at) == len(offsets)
            return came

        await enumerate_awaits(check)

    run()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_poll_that_is_cancelled_in_a_rebalance_gives_up_no_partition_without_its_hook(
    protocol, size
):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)

        async def check(number):
            settings = {**PROTOCOLS[protocol], "group_id": f"g-{number}"}
            owned = set()

            async def assigned(partitions):
                await trio.lowlevel.checkpoint()
                owned.update(partitions)

            async def revoked(partitions):
                await trio.lowlevel.checkpoint()
                owned.difference_update(partitions)

            listener = RebalanceListener(on_assigned=assigned, on_revoked=revoked)
            async with (
                consumer_of(sim, **settings) as consumer,
                consumer_of(sim, **settings) as other,
            ):
                consumer.subscribe(["t"], listener=listener)
                await wait_assigned(consumer, 2)
                other.subscribe(["t"])

                async def poll():
                    while len(consumer.assignment) != 1 or not other.assignment:
                        await consumer.poll(0.3)
                        await other.poll(0.0)

                came = await run_cancelled(number, poll)
                with trio.fail_after(60):
                    while not (len(consumer.assignment) == len(other.assignment) == 1):
                        await consumer.poll(0.1)
                        await other.poll(0.1)
                assert owned == consumer.assignment
            return came and number < MOST

        await enumerate_awaits(check, size(4, 1))

    run()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_commit_that_is_cancelled_holds_no_lock_and_the_next_one_commits(protocol):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        await sim.kafka.produce("t", *[b"%d" % n for n in range(12)])

        async def check(number):
            settings = {**PROTOCOLS[protocol], "group_id": f"g-{number}"}
            async with consumer_of(sim, **settings, enable_auto_commit=False) as consumer:
                consumer.subscribe(["t"])
                await read(consumer, 12)
                came = await run_cancelled(number, consumer.commit)
                await consumer.commit(timeout_s=5.0)
                committed = await consumer.committed([T0, T1])
                assert sum(offset.offset for offset in committed.values()) == 12
            return came

        await enumerate_awaits(check)

    run()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_close_that_is_cancelled_leaves_the_group_and_no_task(protocol):
    @simulate(seeds=1)
    async def run(sim):
        await sim.kafka.create_topic("t", 2)
        await sim.kafka.produce("t", *[b"%d" % n for n in range(12)])

        async def check(number):
            group = f"g-{number}"
            settings = {**PROTOCOLS[protocol], "group_id": group, "client_id": f"c-{number}-"}
            with trio.CancelScope() as scope, ExitStack() as stack:
                async with consumer_of(sim, **settings) as consumer:
                    consumer.subscribe(["t"], listener=hooks())
                    await read(consumer, 12)
                    assert tasks_of(f"c-{number}-")
                    start = trio.current_time()
                    instrument = stack.enter_context(cancelled_at(number, scope))
            assert trio.current_time() - start < 5.0
            assert tasks_of(f"c-{number}-") == []
            assert not (await sim.kafka.group(group)).members
            return instrument.remaining <= 0

        await enumerate_awaits(check)

    run()
