"""The batch accumulator alone: when a batch is open, full and due, and what becomes of it."""

from collections.abc import Callable
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import KeptLog
from trio_kafka.coordinators.shards.batch_accumulator import BatchAccumulator, loss_replies
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Timers

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)

LOST = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)


class Scene:
    """One that gathers for 5 ms, and says when it is due."""

    def __init__(self, linger_ms: int = 5) -> None:
        self.timers = Timers(Node("test", "broker"))
        self.log = KeptLog()
        self.rung: list[float] = []
        self.accumulator = BatchAccumulator(
            self.log,
            self.timers,
            linger_ms=linger_ms,
            due=lambda: self.rung.append(trio.current_time()),
        )

    def add(self, *words: str, answers: int = 1) -> bool:
        records = [CoordinatorRecord(word) for word in words]
        return self.accumulator.add(Effects(records, [(n, n) for n in range(answers)]), 7)


@pytest.fixture
async def scene() -> Scene:
    return Scene()


async def test_events_of_a_batch_are_written_together_and_cleared(scene: Scene) -> None:
    assert scene.add("a", "b")
    assert scene.add()
    assert scene.add("c")
    assert len(scene.accumulator.effects) == 3
    assert scene.accumulator.figures() == {"open": 3, "batches": 0}

    scene.accumulator.write(8)

    assert scene.log.batches == [["a", "b", "c"]]
    assert scene.accumulator.figures() == {"open": 0, "batches": 1}
    assert scene.accumulator.effects == []
    assert not scene.accumulator.is_open
    assert scene.timers.waiting == 0


async def test_event_without_records_opens_no_batch(scene: Scene) -> None:
    assert not scene.add()
    assert not scene.accumulator.is_open
    assert scene.timers.waiting == 0
    with pytest.raises(InvariantError):
        scene.accumulator.write(8)


async def test_effects_without_answers_or_followups_are_not_kept(scene: Scene) -> None:
    scene.add("a")

    assert scene.accumulator.add(Effects(), 7)
    assert len(scene.accumulator.effects) == 1
    assert scene.accumulator.add(Effects(committed=lambda _now_ms: Effects()), 7)
    assert len(scene.accumulator.effects) == 2


@pytest.mark.parametrize("opened", [False, True])
@pytest.mark.parametrize(("records", "answers"), [(101, 0), (0, 101), (3, 1)])
async def test_too_large_event_is_not_added_to_the_batch(
    scene: Scene, records: int, answers: int, opened: bool
) -> None:
    scene.log.room = 2 if records == 3 else 1000
    if opened:
        assert scene.add("a")

    assert not scene.add(*map(str, range(records)), answers=answers)
    assert scene.accumulator.is_open is opened
    assert len(scene.accumulator.effects) == opened


async def test_closed_log_refuses_an_event_before_a_batch_is_opened(scene: Scene) -> None:
    scene.log.closed = LOST

    with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
        scene.add("a")
    assert not scene.accumulator.is_open
    assert scene.timers.waiting == 0


@pytest.mark.parametrize(
    ("records", "answers", "most"), [(1, 1, 99), (0, 1, 149), (100, 0, 3), (1, 100, 3)]
)
async def test_batch_is_full_at_a_bounded_number_of_records_and_answers(
    scene: Scene, records: int, answers: int, most: int
) -> None:
    scene.add("first")
    added = 0
    while not scene.accumulator.is_full:
        assert scene.add(*map(str, range(records)), answers=answers)
        added += 1

    assert added == most
    scene.accumulator.write(8)
    assert not scene.accumulator.is_full


async def test_batch_is_due_after_the_linger_of_its_first_event(autojump_clock: MockClock) -> None:
    scene = Scene()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scene.timers.run)
        begun = trio.current_time()
        scene.add("a")
        await trio.sleep(0.004)
        scene.add("b")
        assert not scene.accumulator.is_due
        await trio.sleep(0.002)
        assert scene.accumulator.is_due
        assert scene.rung == pytest.approx([begun + 0.005])
        scene.accumulator.write(8)
        assert not scene.accumulator.is_due

        scene.add("c")  # the next one has a linger of its own
        scene.accumulator.write(9)
        await trio.sleep(0.1)
        assert len(scene.rung) == 1
        nursery.cancel_scope.cancel()


@pytest.mark.parametrize("end", [BatchAccumulator.drop, BatchAccumulator.close])
async def test_dropped_or_closed_batch_is_never_due(
    autojump_clock: MockClock, end: Callable[[BatchAccumulator], None]
) -> None:
    scene = Scene()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(scene.timers.run)
        scene.add("a")
        end(scene.accumulator)
        assert scene.timers.waiting == 0
        await trio.sleep(0.1)
        nursery.cancel_scope.cancel()

    assert scene.rung == []
    assert not scene.accumulator.is_open
    assert scene.log.records == []


async def test_without_a_linger_no_timer_is_set() -> None:
    timers = Timers(Node("test", "broker"))
    accumulator = BatchAccumulator(KeptLog(), timers, linger_ms=0, due=lambda: None)

    accumulator.add(Effects([CoordinatorRecord("a")]), 7)

    assert accumulator.is_open
    assert timers.waiting == 0


async def test_refused_batch_is_closed(scene: Scene) -> None:
    scene.add("a")
    scene.log.error = LOST

    with pytest.raises(KafkaError, match="NOT_ENOUGH_REPLICAS"):
        scene.accumulator.write(8)

    assert not scene.accumulator.is_open
    assert scene.accumulator.figures()["batches"] == 0


def test_each_waiting_request_of_a_lost_batch_gets_a_single_answer() -> None:
    def refused(error: KafkaError, now_ms: int) -> Effects:
        return Effects(answers=[("b", error.code), ("c", now_ms)])

    effects = [
        Effects(answers=[("a", 1)]),
        Effects(answers=[("x", 1)], refused=refused),
        Effects(answers=[("c", 1), ("d", 1)]),
    ]

    replies: dict[Any, Any] = loss_replies(effects, LOST, 9)

    assert replies == {"a": LOST, "b": LOST.code, "c": 9, "d": LOST}
