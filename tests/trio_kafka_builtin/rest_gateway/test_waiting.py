"""Waiting for what is parked: told once, and dropped by who does not wait any more."""

import pytest
import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.introspect.tree import Node
from trio_kafka.plugin import Delayed
from trio_kafka.purgatory import Purgatory, Timers
from trio_kafka_builtin.rest_gateway.waiting import settled


async def test_what_is_there_is_given_at_once(autojump_clock: MockClock) -> None:
    assert await settled(7) == 7


@pytest.mark.parametrize("how", ["marked", "late", "left"])
async def test_a_delayed_is_waited_for(how: str, autojump_clock: MockClock) -> None:
    node, key, done = Node("test", "part"), object(), []
    timers = Timers(node)
    purgatory = Purgatory("Test", timers, node)

    def try_complete(timed_out: bool) -> str | None:
        return "late" if timed_out else "marked" if done else None

    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        delayed = Delayed([key], trio.current_time() + 5, try_complete, purgatory=purgatory)
        results = []

        async def wait() -> None:
            with trio.move_on_after(1 if how == "left" else 60):
                results.append(await settled(delayed))

        async with trio.open_nursery() as waiting:
            waiting.start_soon(wait)
            await wait_all_tasks_blocked()
            purgatory.mark(key)  # in vain
            await wait_all_tasks_blocked()
            if how == "marked":
                done.append(True)
                purgatory.mark(key)
        nursery.cancel_scope.cancel()

    assert results == ([] if how == "left" else [how])
    assert not purgatory.watchers
