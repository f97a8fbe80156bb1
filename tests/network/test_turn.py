"""A turn: one budget for the plane, a part of it for each task."""

import trio
import trio.testing

from trio_kafka.network.turn import SLICE_S, Turn


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
    with turn.installed():
        await trio.sleep(3.0)

    assert turn.time == trio.current_time()
    assert turn.passes > 0


def one_pass(turn: Turn, hand: Hand, took: float, slept: float = 0.0) -> None:
    turn.after_io_wait(0)
    hand.now += took
    turn.before_io_wait(0)
    hand.now += slept


async def test_the_lag_is_that_of_the_last_minute_or_two_and_the_longest_pass_is_kept() -> None:
    hand = Hand()
    turn = Turn(hand)
    one_pass(turn, hand, 0.5, slept=50.0)
    assert round(float(turn.figures()["lag_ms"] or 0), 6) == 500.0

    for slept in (20.0, 61.0, 61.0):
        one_pass(turn, hand, 0.001, slept)
    one_pass(turn, hand, 0.002)

    figures = turn.figures()
    assert round(float(figures["lag_ms"] or 0), 6) == 2.0
    assert round(float(figures["longest_ms"] or 0), 6) == 500.0
    assert round(turn.busy_s, 6) == 0.505


async def test_how_long_a_task_waits_for_its_turn_after_a_wake_is_summed() -> None:
    hand = Hand()
    turn = Turn(hand)
    turn.after_io_wait(0)
    hand.now += 0.25
    turn.begin()
    hand.now += 0.5
    turn.begin()

    figures = turn.figures()
    assert (figures["wakes"], figures["wake_ms"]) == (2, 1000.0)
    assert figures["wake_longest_ms"] == 750.0


async def test_whoever_watches_is_called_once_when_a_pass_begins_and_once_when_it_ends() -> None:
    hand = Hand()
    turn = Turn(hand)
    told: list[object] = []
    turn.rouse = lambda: told.append("begins")
    turn.over = told.append

    assert turn.waiting
    one_pass(turn, hand, 0.5)
    one_pass(turn, hand, 0.5)

    assert told == ["begins", 0.5]
    assert turn.waiting


async def test_a_loop_that_is_not_followed_any_more_is_not_taken_for_busy() -> None:
    turn = Turn(Hand())
    with turn.installed():
        await trio.sleep(0)
        assert not turn.waiting

    assert turn.waiting


async def test_tasks_are_counted() -> None:
    turn = Turn(Hand())
    before = turn.figures()["tasks"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        assert turn.figures()["tasks"] == int(before or 0) + 1
        nursery.cancel_scope.cancel()


async def test_another_plane_is_let_in_before_a_part_begins_and_each_slice_of_it() -> None:
    now, asked = 0.0, []
    turn = Turn(lambda: now)
    turn.let_in = lambda: bool(asked.append(now))
    turn.after_io_wait(0)

    assert turn.begin() == SLICE_S
    now = SLICE_S
    assert turn.go_on() == 2 * SLICE_S
    now = turn.limit_s - SLICE_S / 2
    assert turn.go_on() == turn.limit_s
    now = turn.limit_s
    assert turn.go_on() == turn.limit_s  # over
    assert len(asked) == 4


async def test_a_part_is_no_longer_for_what_the_other_plane_took() -> None:
    now = 0.0
    turn = Turn(lambda: now)

    def let_in() -> bool:
        nonlocal now
        now += turn.limit_s
        return True

    turn.let_in = let_in
    turn.after_io_wait(0)

    assert turn.begin() == turn.limit_s


async def test_who_was_let_in_is_company() -> None:
    """Nobody waits in place beside it."""
    turn = Turn(trio.current_time)
    turn.let_in = lambda: True
    turn.after_io_wait(0)
    assert turn.shared < turn.time

    turn.begin()

    assert turn.shared == turn.time
