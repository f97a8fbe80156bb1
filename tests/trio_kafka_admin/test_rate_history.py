"""Rates of counters since earlier looks."""

import trio
from trio.testing import MockClock

from trio_kafka_admin.rate_history import MOST, STALE_S, RateHistory


async def test_rate_is_the_growth_since_the_look_before(autojump_clock: MockClock) -> None:
    history = RateHistory()

    first = history.note("a", (100, 5))
    await trio.sleep(2)
    second = history.note("a", (300, 5))
    again = history.note("a", (300, 5))

    assert first is None
    assert second == again == (100.0, 0.0)


async def test_rate_forgets_what_was_before_its_window(autojump_clock: MockClock) -> None:
    history = RateHistory()
    for number in range(20):
        history.note("a", (number * 2,))
        await trio.sleep(2)
    for _ in range(9):
        rates = history.note("a", (40,))
        await trio.sleep(2)

    assert rates == (0.0,)


async def test_counter_that_begins_anew_has_no_rate(autojump_clock: MockClock) -> None:
    history = RateHistory()
    history.note("a", (100,))
    await trio.sleep(2)

    assert history.note("a", (7,)) is None
    await trio.sleep(2)
    assert history.note("a", (9,)) == (1.0,)


async def test_look_of_long_ago_is_not_compared_with(autojump_clock: MockClock) -> None:
    history = RateHistory()
    history.note("a", (100,))
    await trio.sleep(STALE_S + 1)

    assert history.note("a", (200,)) is None


async def test_oldest_of_too_many_keys_is_forgotten(autojump_clock: MockClock) -> None:
    history = RateHistory()
    for number in range(MOST + 5):
        history.note(number, (1,))
    await trio.sleep(1)

    assert len(history) == MOST
    assert history.note(MOST, (2,)) == (1.0,)
    assert history.note(0, (2,)) is None
