"""Timers of a machine: put off, cancelled, taken when their turn comes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import trio
from trio.testing import MockClock

from trio_kafka.coordinators.shards.effects import CancelTimer, SetTimer, TimerKey
from trio_kafka.coordinators.shards.keyed_timers import KeyedTimers
from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Timers
from trio_kafka.scheduling.chunked_work import whole

A, B = ("a", 1), ("b", 2)


class Bell:
    """Timers that fired, and when."""

    def __init__(self) -> None:
        self.timers = Timers(Node("test", "broker"))
        self.keyed_timers = KeyedTimers(self.timers, self.ring)
        self.rang: list[tuple[TimerKey, float]] = []
        self.began = trio.current_time()

    def ring(self, key: TimerKey) -> None:
        self.rang.append((key, round(trio.current_time() - self.began, 3)))


def set_timer(bell: Bell, key: TimerKey, delay_s: float, *, keep: bool = False) -> None:
    bell.keyed_timers.apply([SetTimer(key, round(delay_s * 1000), keep)])


@asynccontextmanager
async def a_bell() -> AsyncIterator[Bell]:
    bell = Bell()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bell.timers.run)
        yield bell
        nursery.cancel_scope.cancel()


async def test_due_timer_fires_exactly_once(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 0.1)
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.1)]
        assert bell.keyed_timers.claim(A)
        assert not bell.keyed_timers.claim(A)
        assert len(bell.keyed_timers) == 0


async def test_postponed_timer_keeps_a_single_underlying_timer(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 0.1)
        for _ in range(5):
            await trio.sleep(0.05)
            set_timer(bell, A, 0.1)
            assert bell.timers.waiting == 1
            assert bell.rang == []
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.35)]


async def test_setting_a_timer_with_keep_does_not_change_a_set_timer(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 0.1, keep=True)
        await trio.sleep(0.05)
        set_timer(bell, A, 0.1, keep=True)
        set_timer(bell, A, 0.01, keep=True)
        await trio.sleep(0.1)
        set_timer(bell, A, 0.1, keep=True)  # it rang, and waits for its turn
        await trio.sleep(1.0)

        assert bell.rang == [(A, 0.1)]
        assert bell.keyed_timers.claim(A)


async def test_timer_reset_to_an_earlier_time_fires_earlier(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 1.0)
        set_timer(bell, A, 0.1)
        await trio.sleep(2.0)

        assert bell.rang == [(A, 0.1)]


async def test_cancelled_or_cleared_timer_does_not_fire(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 0.1)
        bell.keyed_timers.apply([CancelTimer(A)])
        bell.keyed_timers.apply([CancelTimer(A)])
        set_timer(bell, B, 0.1)
        assert bell.keyed_timers.figures() == {"b 2": 0.1}
        whole(bell.keyed_timers.clear())
        await trio.sleep(1.0)

        assert bell.rang == []


async def test_timer_that_becomes_due_while_clearing_does_not_fire(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        for number in range(301):
            set_timer(bell, ("a", number), 0.1 + number / 1000)
        for _ in bell.keyed_timers.clear():
            await trio.sleep(0.15)

        assert bell.rang == []
        assert bell.keyed_timers.figures() == {}
        assert bell.timers.figures()["waiting"] == 0


async def test_fired_timer_cannot_be_claimed_after_a_reset_or_cancellation(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        for change in (
            lambda: set_timer(bell, A, 5.0),
            lambda: bell.keyed_timers.apply([CancelTimer(A)]),
        ):
            set_timer(bell, A, 0.1)
            await trio.sleep(0.2)
            change()
            assert not bell.keyed_timers.claim(A)
            bell.keyed_timers.apply([CancelTimer(A)])


async def test_selected_timers_are_postponed(autojump_clock: MockClock) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 1.0)
        set_timer(bell, B, 1.0)
        await trio.sleep(0.1)

        held = set(bell.keyed_timers.timers(lambda key: key == A))
        bell.keyed_timers.postpone(5.0, lambda key: key == A)
        bell.timers.postpone(held, 5.0)
        bell.timers.set_wake()
        await trio.sleep(7.0)

        assert bell.rang == [(B, 1.0), (A, 6.0)]


async def test_time_left_follows_a_timer_that_is_put_off_until_it_is_claimed(
    autojump_clock: MockClock,
) -> None:
    async with a_bell() as bell:
        set_timer(bell, A, 5)
        await trio.sleep(4)
        set_timer(bell, A, 5)
        await trio.sleep(2)
        put_off = bell.keyed_timers.left_s(A)
        await trio.sleep(4)
        due = bell.keyed_timers.left_s(A)
        bell.keyed_timers.claim(A)

        assert put_off is not None
        assert round(put_off, 3) == 3.0
        assert due == 0.0
        assert bell.keyed_timers.left_s(A) is None
        assert bell.keyed_timers.left_s(B) is None
