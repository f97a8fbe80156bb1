"""The pace of moves, in virtual time."""

import trio
from trio.testing import MockClock

from trio_kafka.replication.moves.pace import LARGEST, SMALLEST, Pace


async def test_copies_do_not_wait_without_a_rate_limit(autojump_clock: MockClock) -> None:
    pace, began = Pace(), trio.current_time()

    for _ in range(100):
        await pace.pay(LARGEST)

    assert trio.current_time() == began
    assert pace.piece == LARGEST


async def test_concurrent_moves_share_the_rate_limit(autojump_clock: MockClock) -> None:
    pace, began = Pace(rate=1000), trio.current_time()

    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(pace.pay, 500)

    assert 1.9 < trio.current_time() - began < 2.1
    assert pace.waiting == 0


async def test_time_without_moves_earns_no_credit(autojump_clock: MockClock) -> None:
    pace = Pace(rate=1000)
    await trio.sleep(100)
    began = trio.current_time()

    await pace.pay(3000)

    assert 2.9 < trio.current_time() - began < 3.1


async def test_changed_rate_applies_at_once_to_waiting_moves(autojump_clock: MockClock) -> None:
    pace = Pace(rate=0)
    began = trio.current_time()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(pace.pay, 1000)
        await trio.sleep(10)
        assert pace.waiting == 1
        pace.set_rate(500)
        await trio.sleep(1)
        pace.set_rate(5000)

    assert 11 < trio.current_time() - began < 11.2


def test_pieces_are_small_if_the_rate_is_low() -> None:
    assert Pace(rate=0).piece == SMALLEST
    assert Pace(rate=100_000).piece == 10_000
