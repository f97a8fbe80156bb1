"""A turn: one budget for the plane, a part of it for each task."""

import trio
import trio.testing

from trio_kafka.network.turn import Turn


class Hand:
    """A clock's hand that the test moves."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


async def test_each_task_has_a_part_and_together_they_have_one_budget() -> None:
    hand = Hand()
    turn = Turn(hand, limit_s=0.001, share_s=0.0004)
    turn.after_io_wait(0)

    assert turn.begin() == 10.0 + 0.0004
    hand.now += 0.0008
    assert turn.begin() == 10.0 + 0.001
    hand.now += 0.0008
    assert turn.begin() < hand.now


async def test_the_budget_is_parted_among_those_who_ran_in_the_pass_before() -> None:
    hand = Hand()
    turn = Turn(hand, limit_s=0.002)
    turn.after_io_wait(0)
    assert turn.begin() == 10.0 + 0.002
    for _ in range(3):
        turn.begin()

    turn.after_io_wait(0)
    assert turn.begin() == 10.0 + 0.0005

    turn.after_io_wait(0)
    assert turn.begin() == 10.0 + 0.002


async def test_the_longest_pass_is_remembered() -> None:
    hand = Hand()
    turn = Turn(hand)
    for took in (0.002, 0.005, 0.001):
        turn.after_io_wait(0)
        hand.now += took
        turn.before_io_wait(0)
        hand.now += 1.0

    figures = turn.figures()
    assert figures["passes"] == 3
    assert round(turn.longest_s, 6) == 0.005


async def test_a_pass_reads_the_time_once(autojump_clock: trio.testing.MockClock) -> None:
    turn = Turn(trio.current_time)
    trio.lowlevel.add_instrument(turn)
    await trio.sleep(3.0)
    trio.lowlevel.remove_instrument(turn)

    assert turn.time == trio.current_time()
    assert turn.passes > 0
