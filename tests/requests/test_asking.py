"""How requests from within are handed over, and given up."""

from functools import partial
from typing import Any

import trio
from trio.testing import MockClock, wait_all_tasks_blocked

from tests.requests.test_in_process import ask, fetch, figures, produce
from trio_kafka.testing.broker import served_broker
from trio_kafka.testing.simulation import simulated_world


async def test_who_is_cancelled_has_left_and_nothing_of_it_stays(
    autojump_clock: MockClock,
) -> None:
    async with served_broker(simulated_world()) as served:
        await served.create_topic("t")
        purgatory = served.broker.replicas.fetch
        with trio.move_on_after(2):
            await ask(served, fetch("t", max_wait_ms=60_000), version=12)
        assert purgatory.waiting == 0
        assert served.broker.parts.in_process.connections == {}

        async with trio.open_nursery() as nursery:
            asked = fetch("t", max_wait_ms=60_000, min_bytes=1)
            nursery.start_soon(partial(ask, served, asked, version=12))
            await wait_all_tasks_blocked()
            assert figures(served)["in_hand"] == 1
            nursery.cancel_scope.cancel()
        assert figures(served)["in_hand"] == 0


async def test_many_at_once_wait_for_room_and_are_all_answered(
    autojump_clock: MockClock,
) -> None:
    answers: list[Any] = []

    async with served_broker(simulated_world(), {"queued.max.requests": "3"}) as served:
        await served.create_topic("t")

        async def one() -> None:
            answers.append(await ask(served, produce("t"), version=12))

        async with trio.open_nursery() as nursery:
            for _ in range(20):
                nursery.start_soon(one)
            with trio.CancelScope() as scope:
                scope.cancel()
                await ask(served, produce("t"), version=12)
    offsets = [answer.responses[0].partition_responses[0].base_offset for answer in answers]
    assert sorted(offsets)[:20] == sorted(offsets)
    assert len(set(offsets)) == 20


async def test_one_that_gave_up_waiting_for_room_passes_it_on(autojump_clock: MockClock) -> None:
    answers: list[Any] = []
    async with served_broker(simulated_world(), {"queued.max.requests": "1"}) as served:
        await served.create_topic("t")

        async def one(scope: trio.CancelScope) -> None:
            with scope:
                answers.append(await ask(served, produce("t"), version=12))

        scopes = [trio.CancelScope() for _ in range(9)]
        async with trio.open_nursery() as nursery:
            for scope in scopes:
                nursery.start_soon(one, scope)
            await trio.lowlevel.checkpoint()
            for scope in scopes[1::2]:
                scope.cancel()
        assert figures(served)["in_hand"] == 0
    assert len(answers) >= 5
