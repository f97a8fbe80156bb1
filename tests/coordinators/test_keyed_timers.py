"""Timers of a machine: put off, cancelled, taken when their turn comes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock

from trio_kafka.coordinators.effects import TimerKey
from trio_kafka.coordinators.keyed_timers import KeyedTimers
from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.chunked_work import whole

A, B = ("a", 1), ("b", 2)


class Bell:
    """What rang, and when."""

    def __init__(self) -> None:
        self.timers = Timers(Node("test", "broker"))
        self.keyed_timers = KeyedTimers(self.timers, self.ring)
        self.rang: list[tuple[TimerKey, float]] = []
        self.began = trio.current_time()

    def ring(self, key: TimerKey) -> None:
        self.rang.append((key, round(trio.current_time() - self.began, 3)))


@asynccontextmanager
async def a_bell() -> AsyncIterator[Bell]:
    bell = Bell()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bell.timers.run)
        yield bell
        nursery.cancel_scope.cancel()


async def test_one_rings_when_it_is_due_and_once(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 0.1)
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.1)]
        assert bell.keyed_timers.claim(A)
        assert not bell.keyed_timers.claim(A)
        assert len(bell.keyed_timers) == 0


async def test_one_that_is_put_off_costs_no_timer_until_it_would_have_been_due(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 0.1)
        for _ in range(5):
            await trio.sleep(0.05)
            bell.keyed_timers.set(A, 0.1)
            assert bell.timers.waiting == 1
            assert bell.rang == []
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.35)]


async def test_one_that_is_set_already_may_be_kept(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 0.1, keep=True)
        await trio.sleep(0.05)
        bell.keyed_timers.set(A, 0.1, keep=True)
        bell.keyed_timers.set(A, 0.01, keep=True)
        await trio.sleep(0.1)
        bell.keyed_timers.set(A, 0.1, keep=True)  # it rang, and waits for its turn
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.1)]
        assert bell.keyed_timers.claim(A)


async def test_one_that_is_set_earlier_rings_earlier(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 1.0)
        bell.keyed_timers.set(A, 0.1)
        await trio.sleep(2.0)

        assert bell.rang == [(A, 0.1)]


async def test_what_is_cancelled_or_cleared_does_not_ring(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 0.1)
        bell.keyed_timers.cancel(A)
        bell.keyed_timers.cancel(A)
        bell.keyed_timers.set(B, 0.1)
        assert bell.keyed_timers.figures() == {"b 2": 0.1}
        whole(bell.keyed_timers.clear())
        await trio.sleep(1.0)

        assert bell.rang == []


async def test_one_that_becomes_due_while_all_are_cleared_does_not_ring(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        for number in range(301):
            bell.keyed_timers.set(("a", number), 0.1 + number / 1000)
        for _ in bell.keyed_timers.clear():
            await trio.sleep(0.15)

        assert bell.rang == []
        assert bell.keyed_timers.figures() == {}
        assert bell.timers.figures()["waiting"] == 0


async def test_who_waits_for_its_turn_is_not_taken_if_it_was_set_or_cancelled(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        for change in (lambda: bell.keyed_timers.set(A, 5.0), lambda: bell.keyed_timers.cancel(A)):
            bell.keyed_timers.set(A, 0.1)
            await trio.sleep(0.2)
            change()
            assert not bell.keyed_timers.claim(A)
            bell.keyed_timers.cancel(A)


async def test_chosen_timers_are_put_off_with_their_deadlines(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        bell.keyed_timers.set(A, 1.0)
        bell.keyed_timers.set(B, 1.0)
        await trio.sleep(0.1)

        held = set(bell.keyed_timers.timers(lambda key: key == A))
        bell.keyed_timers.postpone(5.0, lambda key: key == A)
        bell.timers.postpone(held, 5.0)
        bell.timers.set_wake()
        await trio.sleep(7.0)

        assert bell.rang == [(B, 1.0), (A, 6.0)]
