"""Loop budget: one for the plane, a share of it for each task."""

import trio
import trio.testing

from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.scheduling.loop_budget import SLICE_S, LoopBudget, in_steps


class Hand:
    """A clock's hand that the test moves."""

    def __init__(self) -> None:
        self.now = 10.0

    def __call__(self) -> float:
        return self.now


async def test_each_task_gets_a_share_and_all_shares_end_with_the_budget_of_the_pass() -> None:
    hand = Hand()
    budget = LoopBudget(hand, limit_s=0.001, share_s=0.0004)
    budget.after_io_wait(0)

    assert budget.begin_share() == 10.0 + 0.0004
    hand.now += 0.0008
    assert budget.begin_share() == 10.0 + 0.001
    hand.now += 0.0008
    assert budget.begin_share() < hand.now


async def test_the_budget_is_divided_by_the_number_of_tasks_of_the_previous_pass() -> None:
    hand = Hand()
    budget = LoopBudget(hand, limit_s=0.002)
    budget.after_io_wait(0)
    assert budget.begin_share() == 10.0 + 0.002
    for _ in range(3):
        budget.begin_share()

    budget.after_io_wait(0)
    assert budget.begin_share() == 10.0 + 0.0005

    budget.after_io_wait(0)
    assert budget.begin_share() == 10.0 + 0.002


async def test_the_longest_pass_is_recorded() -> None:
    hand = Hand()
    budget = LoopBudget(hand)
    for took in (0.002, 0.005, 0.001):
        budget.after_io_wait(0)
        hand.now += took
        budget.before_io_wait(0)
        hand.now += 1.0

    figures = budget.figures()
    assert figures["passes"] == 3
    assert round(budget.longest_s, 6) == 0.005


async def test_the_budget_has_the_time_of_the_current_pass(
    autojump_clock: trio.testing.MockClock,
) -> None:
    budget = LoopBudget(trio.current_time)
    with budget.installed():
        await trio.sleep(3.0)

    assert budget.time == trio.current_time()
    assert budget.passes > 0


def one_pass(budget: LoopBudget, hand: Hand, took: float, slept: float = 0.0) -> None:
    budget.after_io_wait(0)
    hand.now += took
    budget.before_io_wait(0)
    hand.now += slept


async def test_lag_covers_the_last_one_to_two_minutes_and_longest_pass_all_time() -> None:
    hand = Hand()
    budget = LoopBudget(hand)
    one_pass(budget, hand, 0.5, slept=50.0)
    assert round(float(budget.figures()["lag_ms"] or 0), 6) == 500.0

    for slept in (20.0, 61.0, 61.0):
        one_pass(budget, hand, 0.001, slept)
    one_pass(budget, hand, 0.002)

    figures = budget.figures()
    assert round(float(figures["lag_ms"] or 0), 6) == 2.0
    assert round(float(figures["longest_ms"] or 0), 6) == 500.0
    assert round(budget.busy_s, 6) == 0.505


async def test_waiting_times_of_woken_tasks_are_summed() -> None:
    hand = Hand()
    budget = LoopBudget(hand)
    budget.after_io_wait(0)
    hand.now += 0.25
    budget.begin_share()
    hand.now += 0.5
    budget.begin_share()

    figures = budget.figures()
    assert (figures["wakes"], figures["wake_ms"]) == (2, 1000.0)
    assert figures["wake_longest_ms"] == 750.0


async def test_callbacks_are_called_once_at_begin_and_end_of_a_pass() -> None:
    hand = Hand()
    budget = LoopBudget(hand)
    calls: list[object] = []
    budget.on_begin = lambda: calls.append("begins")
    budget.on_end = calls.append

    assert budget.waiting
    one_pass(budget, hand, 0.5)
    one_pass(budget, hand, 0.5)

    assert calls == ["begins", 0.5]
    assert budget.waiting


async def test_a_loop_budget_that_is_uninstalled_counts_as_waiting() -> None:
    budget = LoopBudget(Hand())
    with budget.installed():
        await trio.sleep(0)
        assert not budget.waiting

    assert budget.waiting


async def test_tasks_of_the_loop_are_counted_in_the_figures() -> None:
    budget = LoopBudget(Hand())
    before = budget.figures()["tasks"]
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.sleep_forever)
        await trio.testing.wait_all_tasks_blocked()
        assert budget.figures()["tasks"] == int(before or 0) + 1
        nursery.cancel_scope.cancel()


async def test_the_yield_point_is_called_before_a_share_and_before_each_slice() -> None:
    now, times = 0.0, []
    budget = LoopBudget(lambda: now)
    budget.yield_point.bind(lambda: times.append(now))
    budget.after_io_wait(0)

    assert budget.begin_share() == SLICE_S
    now = SLICE_S
    assert budget.next_slice() == 2 * SLICE_S
    now = budget.limit_s - SLICE_S / 2
    assert budget.next_slice() == budget.limit_s
    now = budget.limit_s
    assert budget.next_slice() == budget.limit_s  # over
    assert len(times) == 4


async def test_time_spent_in_the_yield_point_does_not_extend_a_share() -> None:
    now = 0.0
    budget = LoopBudget(lambda: now)

    def serve() -> None:
        nonlocal now
        now += budget.limit_s

    budget.yield_point.bind(serve)
    budget.after_io_wait(0)

    assert budget.begin_share() == budget.limit_s


async def test_other_tasks_run_after_each_step() -> None:
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    def work() -> Steps[list[int]]:
        seen = []
        for _ in range(20):
            yield
            seen.append(turns)
        return seen

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)

        seen = await in_steps(work())

        nursery.cancel_scope.cancel()
    # Trio runs the tasks of one pass in any order, so two steps may see the same number.
    assert len(set(seen)) > 10
