"""Waiting operations are completed once, by a mark or by time, and leave nothing behind."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock, wait_all_tasks_blocked

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.purgatory import Delayed, Purgatory, Timers


class Bench:
    """A purgatory whose lane is a list."""

    def __init__(self) -> None:
        self.node = Node("plane", "plane")
        self.timers = Timers(self.node)
        self.purgatory = Purgatory("Fetch", self.timers, self.node)
        self.lane: list[Delayed] = []
        self.answers: list[Any] = []

    def delay(
        self,
        *keys: str,
        deadline: float = float("inf"),
        try_complete: Callable[[bool], Any] = lambda timed_out: "late" if timed_out else None,
    ) -> Delayed:
        delayed = Delayed(keys, deadline, try_complete, purgatory=self.purgatory)
        self.purgatory.watch(delayed, self.lane.append, self.answers.append)
        return delayed

    def serve(self) -> None:
        while self.lane:
            self.purgatory.check(self.lane.pop(0))

    @property
    def is_empty(self) -> bool:
        return not (self.purgatory.waiting or len(self.purgatory.watchers) or self.timers.waiting)


def test_marked_operation_enters_the_lane_once_and_is_completed_when_served() -> None:
    bench = Bench()
    delayed = bench.delay("a", "b", try_complete=lambda timed_out: "done")

    bench.purgatory.mark("a")
    bench.purgatory.mark("b")
    bench.purgatory.mark("other")

    assert bench.lane == [delayed]
    assert bench.answers == []
    bench.serve()
    assert bench.answers == ["done"]
    assert bench.is_empty


def test_incomplete_operation_stays_and_can_be_marked_again() -> None:
    bench = Bench()
    outcomes = [None, None, "now"]
    bench.delay("a", deadline=9.0, try_complete=lambda timed_out: outcomes.pop(0))

    for remaining in (1, 1, 0):
        bench.purgatory.mark("a")
        bench.serve()
        assert bench.purgatory.waiting == remaining

    assert bench.answers == ["now"]
    assert bench.is_empty


def test_failed_operation_is_finished_with_its_error_and_removed() -> None:
    bench = Bench()
    bench.delay("a", try_complete=lambda timed_out: 1 // 0)
    bench.purgatory.mark("a")
    bench.serve()

    assert isinstance(bench.answers[0], ZeroDivisionError)
    assert bench.is_empty


def test_error_answered_by_an_operation_keeps_no_traceback() -> None:
    """They know the answer, and with it each other."""
    bench = Bench()

    def refuse(timed_out: bool) -> Any:
        raise KafkaError(ErrorCode.NOT_COORDINATOR, str(timed_out))

    bench.delay("a", try_complete=refuse)
    bench.purgatory.mark("a")
    bench.serve()

    (answer,) = bench.answers
    assert answer.code is ErrorCode.NOT_COORDINATOR
    assert answer.__traceback__ is None


def test_operation_without_an_answer_at_its_deadline_is_an_error() -> None:
    bench = Bench()
    delayed = bench.delay("a", try_complete=lambda timed_out: None)
    bench.purgatory.close()
    bench.serve()

    assert delayed.done
    assert isinstance(bench.answers[0], RuntimeError)


def test_dropped_operation_is_finished_once_without_an_answer() -> None:
    bench = Bench()
    delayed = bench.delay("a", deadline=9.0)
    bench.purgatory.mark("a")

    bench.purgatory.drop(delayed)
    bench.purgatory.drop(delayed)
    bench.serve()

    assert bench.answers == [None]
    assert bench.is_empty
    assert bench.purgatory.figures()["dropped"] == 1


def test_close_answers_all_waiting_operations() -> None:
    bench = Bench()
    for _ in range(3):
        bench.delay("a")
    bench.purgatory.close()
    bench.serve()

    assert bench.answers == ["late"] * 3
    assert bench.is_empty


def test_operation_added_after_close_is_answered_at_once() -> None:
    bench = Bench()
    bench.purgatory.close()

    bench.delay("a", deadline=9.0)
    bench.serve()

    assert bench.answers == ["late"]
    assert bench.is_empty


def test_session_is_marked_for_its_attached_keys_only() -> None:
    bench = Bench()
    dirty: list[object] = []

    class Session:
        def marked(self, key: object) -> None:
            dirty.append(key)

    session = Session()
    bench.purgatory.attach("a", session)
    bench.purgatory.attach("b", session)
    bench.purgatory.mark("b")
    bench.purgatory.detach("b", session)
    bench.purgatory.detach("b", session)
    bench.purgatory.mark("b")

    assert dirty == ["b"]
    assert len(bench.purgatory.watchers) == 1


@given(st.lists(st.tuples(st.sampled_from("wmsdc"), st.integers(0, 3)), max_size=60))
def test_every_operation_completes_exactly_once_whatever_the_order_of_events(
    events: list[tuple[str, int]],
) -> None:
    bench = Bench()
    registered = 0
    waiting: list[Delayed] = []
    for event, which in events:
        if event == "w":
            keys = [str(which), str(which + 1)]
            waiting.append(bench.delay(*keys, deadline=1e9, try_complete=lambda _: "x"))
            registered += 1
        elif event == "m":
            bench.purgatory.mark(str(which))
        elif event == "s":
            bench.serve()
        elif event == "d" and waiting:
            bench.purgatory.drop(waiting[which % len(waiting)])
        elif event == "c":
            bench.purgatory.close()
    bench.purgatory.close()
    bench.serve()

    assert len(bench.answers) == registered
    assert bench.is_empty
    assert all(operation.done for operation in waiting)


async def test_unmarked_operations_are_answered_at_their_deadline(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    bench = Bench()
    nursery.start_soon(bench.timers.run)
    await wait_all_tasks_blocked()
    bench.delay("a", deadline=trio.current_time() + 5.0)
    bench.delay("a", deadline=trio.current_time() + 2.0)

    await trio.sleep(2.1)
    assert len(bench.lane) == 1
    bench.serve()
    await trio.sleep(3.0)
    bench.serve()

    assert bench.answers == ["late", "late"]
    assert bench.purgatory.figures()["expired"] == 2
    assert bench.is_empty


async def test_timers_are_called_in_order_and_an_earlier_timer_wakes_the_task(
    autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    timers = Timers(Node("plane", "plane"))
    nursery.start_soon(timers.run)
    called: list[tuple[str, float]] = []

    def call(name: str) -> Callable[[], None]:
        return lambda: called.append((name, trio.current_time()))

    start = trio.current_time()
    timers.at(start + 3.0, call("late"))
    await trio.sleep(0.5)
    timers.at(start + 1.0, call("early"))
    cancelled = timers.at(start + 2.0, call("never"))
    timers.cancel(cancelled)
    timers.cancel(cancelled)
    await trio.sleep(5.0)

    assert [name for name, _ in called] == ["early", "late"]
    assert [round(when - start, 6) for _, when in called] == [1.0, 3.0]
    assert timers.figures() == {"waiting": 0, "dead": 0, "next_s": None}


def test_heap_with_mostly_cancelled_timers_is_compacted() -> None:
    bench = Bench()
    kept = [bench.delay("a", deadline=1e6) for _ in range(50)]
    for _ in range(10_000):
        bench.purgatory.drop(bench.delay("b", deadline=1e5))

    assert len(bench.timers._heap) < 200
    assert bench.timers.waiting == len(kept)
    for delayed in kept:
        bench.purgatory.drop(delayed)


@pytest.mark.parametrize("keys", [1, 100])
def test_completed_operation_leaves_no_key_watched(keys: int) -> None:
    bench = Bench()
    delayed = bench.delay(*map(str, range(keys)), try_complete=lambda timed_out: "x")
    assert len(bench.purgatory.watchers) == keys
    delayed.marked()
    bench.serve()
    assert bench.is_empty


@pytest.mark.parametrize("error", [None, KafkaError(ErrorCode.NOT_COORDINATOR), ValueError("no")])
def test_operation_completed_at_once_is_never_watched(error: Exception | None) -> None:
    bench = Bench()

    def outcome(timed_out: bool) -> str:
        if error is not None:
            raise error
        return "done"

    delayed = Delayed(("a",), 9.0, outcome, purgatory=bench.purgatory)

    answer = bench.purgatory.complete_now(delayed)

    if error is None:
        assert answer == "done"
    else:
        assert str(answer) == str(error)
        assert type(answer) is type(error)
    bench.purgatory.drop(delayed)  # comes too late
    figures = bench.purgatory.figures()
    assert (figures["completed"], figures["dropped"], figures["high_water"]) == (1, 0, 0)
    assert bench.is_empty


def test_operation_not_completed_at_once_can_be_watched() -> None:
    bench = Bench()
    delayed = Delayed(("a",), 9.0, lambda timed_out: None, purgatory=bench.purgatory)

    assert bench.purgatory.complete_now(delayed) is None
    assert bench.purgatory.figures()["completed"] == 0
    bench.purgatory.watch(delayed, bench.lane.append, bench.answers.append)
    bench.purgatory.mark("a")
    assert bench.lane == [delayed]
    bench.purgatory.drop(delayed)


async def test_held_timers_are_skipped_and_postponed(autojump_clock: MockClock) -> None:
    timers, rang = Timers(Node("test", "broker")), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(timers.run)
        held = timers.at(1.0, lambda: rang.append("held"))
        timers.at(2.0, lambda: rang.append("other"))
        timers.cancel(timers.at(0.5, lambda: rang.append("cancelled")))
        await wait_all_tasks_blocked()

        timers.pass_over({held})
        await trio.sleep(1.5)
        assert rang == []
        timers.postpone({held}, 1.5)
        timers.set_wake()
        await trio.sleep(0.6)
        assert rang == ["other"]
        await trio.sleep(0.5)
        assert rang == ["other", "held"]
        nursery.cancel_scope.cancel()


async def test_operations_are_postponed_with_their_timers(autojump_clock: MockClock) -> None:
    bench = Bench()
    delayed = bench.delay("a", deadline=1.0)
    other = bench.delay("b")  # without a deadline
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bench.timers.run)
        bench.purgatory.postpone(10.0)
        bench.timers.postpone(bench.purgatory.own_timers(), 10.0)
        await trio.sleep(10.5)
        assert bench.lane == []
        await trio.sleep(1.0)
        nursery.cancel_scope.cancel()

    bench.purgatory.drop(other)
    bench.purgatory.drop(delayed)
    assert bench.lane == [delayed]
    assert delayed.deadline == 11.0


class Says:
    """Waits of an operation."""

    def waits(self, now: float) -> tuple[Wait, ...]:
        first = Wait(cause="bytes", words="bytes", on=Subject("topic", "t"), then="it is late")
        return (first, Wait(cause="sync", words="a sync", on=Subject("directory", "/data")))


async def test_operation_adds_age_and_deadline_to_what_it_waits_for(
    autojump_clock: MockClock,
) -> None:
    bench = Bench()
    await trio.sleep(1)
    delayed = Delayed((), trio.current_time() + 30, lambda _: None, bench.purgatory, Says())
    delayed.since = trio.current_time()
    await trio.sleep(10)

    first, second = delayed.waits(trio.current_time())

    assert (first.words, first.then) == ("bytes", "it is late")
    assert (first.age_s, first.left_s) == (pytest.approx(10), pytest.approx(20))
    assert (second.age_s, second.left_s) == (None, None)


async def test_operation_that_says_nothing_waits_for_a_change_of_its_keys() -> None:
    bench = Bench()
    (silent,) = Delayed((), 9.0, lambda _: None, bench.purgatory).waits(10.0)
    (keyed,) = Delayed(("a",), 9.0, lambda _: None, bench.purgatory).waits(8.0)

    assert (silent.words, silent.left_s) == ("a change in Fetch", 0.0)
    assert (keyed.words, keyed.left_s) == ("a change in Fetch: str", 1.0)


async def test_completed_operation_releases_the_object_that_describes_its_wait() -> None:
    bench = Bench()
    parked = Delayed(("a",), 9.0, lambda _: "done", bench.purgatory, Says())
    bench.purgatory.watch(parked, bench.lane.append, bench.answers.append)
    bench.purgatory.mark("a")
    bench.serve()
    immediate = Delayed((), 9.0, lambda _: "done", bench.purgatory, Says())
    bench.purgatory.complete_now(immediate)

    assert parked.about is immediate.about is None
