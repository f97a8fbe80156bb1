"""A shard that gathers the records of several events, by time or behind steps."""

from math import inf

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import (
    Stage,
    Words,
    drain,
    far_on,
    lingering,
    many,
    read,
    slowly,
    staged,
    write,
)
from trio_kafka.coordinators.shards.batch_accumulator import ADAPTIVE
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.shards.protocols import Event
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


def fails(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
    raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)


# By time


async def test_events_within_a_linger_share_a_batch(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        for word in "abc":
            assert isinstance(stage.submit(write(word)), Delayed)
            await trio.sleep(0.001)
        assert stage.machine.words == ["a", "b", "c"]  # each knows those before it
        assert (stage.log.batches, stage.answers) == ([], [])
        await trio.sleep(0.003)

        assert stage.log.batches == [["a", "b", "c"]]
        assert stage.answers == ["a", "b", "c"]
        figures = stage.shard.figures()
        assert (figures["open"], figures["batches"]) == (0, 1)
        assert (figures["records"], figures["waiting"], stage.timers.waiting) == (3, 0, 0)


async def test_event_after_the_linger_starts_another_batch(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        stage.submit(write("a"))
        await trio.sleep(0.006)
        stage.submit(write("b"))
        assert stage.shard.figures()["open"] == 1
        await trio.sleep(0.006)

        assert stage.log.batches == [["a"], ["b"]]
        assert stage.answers == ["a", "b"]


async def test_reads_and_errors_wait_for_the_open_batch(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        assert stage.submit(read) == []  # nothing is open
        stage.submit(write("a"))
        assert isinstance(stage.submit(read), Delayed)
        assert isinstance(stage.submit(fails), Delayed)
        stage.submit(write("b"))
        await trio.sleep(0.006)

        assert stage.answers[:2] == ["a", ["a"]]
        assert stage.answers[2].code is ErrorCode.UNKNOWN_MEMBER_ID
        assert stage.answers[3:] == ["b"]
        assert stage.submit(read) == ["a", "b"]


async def test_events_of_a_written_batch_are_answered_when_committed(
    autojump_clock: MockClock,
) -> None:
    async with lingering() as stage:
        stage.log.end = 0
        stage.submit(write("a"))
        stage.submit(write("b"))
        stage.submit(read)
        await trio.sleep(0.006)
        stage.submit(write("c"))
        stage.commit(1)  # which is no reason to write what is open
        assert stage.log.batches == [["a", "b"]]
        await trio.sleep(0.006)
        assert stage.log.batches == [["a", "b"], ["c"]]
        assert stage.answers == []

        stage.commit(2)
        assert stage.answers == ["a", "b", ["a", "b"]]
        stage.commit(3)
        assert stage.answers[3:] == ["c"]


async def test_a_full_batch_is_written_at_once() -> None:
    stage = staged(5)
    for number in range(100):
        stage.submit(write(f"w{number}"))

    assert [len(batch) for batch in stage.log.batches] == [100]
    assert len(stage.answers) == 100 - 1  # the last one had its answer at once
    assert stage.shard.figures()["open"] == 0
    assert stage.timers.waiting == 0


async def test_records_without_room_start_the_next_batch() -> None:
    stage = staged(5)
    stage.log.room = 3
    stage.submit(many(2))
    stage.submit(many(2))

    assert stage.log.batches == [["w0", "w1"]]  # whole, or not at all
    assert stage.answers == ["many"]
    assert stage.shard.figures()["open"] == 2


@pytest.mark.parametrize(("count", "room"), [(4, 3), (250, 1000)])
@pytest.mark.parametrize("atomic", [True, False])
async def test_too_large_event_is_written_separately_after_the_open_batch(
    count: int, room: int, atomic: bool
) -> None:
    stage = staged(5)
    stage.log.room = room
    stage.submit(write("a"))
    stage.submit(many(count, atomic=atomic))
    drain(stage)

    words = [f"w{n}" for n in range(count)]
    assert stage.log.batches == [["a"], words]
    assert stage.machine.words == ["a", *words]
    assert stage.log.atomic == ([atomic] if count > 100 else [])
    assert stage.shard.figures()["open"] == stage.shard.figures()["waiting"] == 0


async def test_stepwise_event_joins_the_open_batch_when_finished(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        stage.submit(write("a"))
        stage.submit(slowly)
        await trio.sleep(0.001)
        stage.submit(write("b"))
        assert stage.log.batches == []
        await trio.sleep(0.005)

        assert stage.log.batches == [["a", "slow", "b"]]
        assert stage.answers == ["a", "slow", "b"]


async def test_open_batch_is_written_in_time_during_a_stepwise_event(
    autojump_clock: MockClock,
) -> None:
    def endless(_machine: Words, _ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        while True:
            yield

    stage = staged(5)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        stage.submit(write("a"))
        stage.submit(endless)
        stage.submit(write("b"))
        await trio.sleep(0.006)
        stage.shard.go_on(0.0)
        nursery.cancel_scope.cancel()

    assert stage.log.batches == [["a"]]
    assert stage.answers == ["a"]
    stage.unload()


async def test_event_with_many_answers_is_answered_after_the_open_batch(
    autojump_clock: MockClock,
) -> None:
    tickets: list[Ticket] = []

    def park(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        tickets.append(ticket)
        return Effects()

    async with lingering() as stage:
        for _ in range(250):
            stage.submit(park)
        stage.submit(write("a"))
        stage.submit(lambda *_: Effects(answers=[(ticket, "told") for ticket in tickets]))
        await trio.sleep(0.001)

        assert stage.log.batches == [["a"]]
        assert stage.answers == ["a"] + ["told"] * 250


async def test_followups_of_a_commit_run_as_the_next_event() -> None:
    def follows(name: str) -> Event[Words]:
        def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
            records = [CoordinatorRecord(name)]
            after = Effects([CoordinatorRecord(f"after {name}")], [(ticket, name)])
            return Effects(records, committed=lambda _now_ms: after)

        return event

    stage = staged(5)
    stage.log.room = 3
    stage.submit(follows("a"))
    stage.submit(follows("b"))
    stage.submit(many(2))  # is half done when those before it are written
    assert stage.machine.words[:4] == ["a", "b", "w0", "w1"]
    assert stage.works[-1] is stage.shard
    drain(stage)

    assert stage.machine.words == ["a", "b", "w0", "w1", "after a", "after b"]
    assert stage.log.batches == [["a", "b"], ["w0", "w1", "after a"]]
    assert stage.shard.figures()["open"] == 1


async def test_records_without_replay_are_written_in_the_batch(
    autojump_clock: MockClock,
) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects([CoordinatorRecord("x")], [(ticket, "x")], replays=False)

    async with lingering() as stage:
        stage.submit(write("a"))
        stage.submit(event)
        await trio.sleep(0.006)

        assert stage.machine.words == ["a"]
        assert stage.log.batches == [["a", "x"]]
        assert stage.answers == ["a", "x"]


# Behind steps


@pytest.mark.parametrize("linger_ms", [ADAPTIVE, 0])
async def test_single_event_is_written_and_answered_at_once_without_a_linger(
    linger_ms: int,
) -> None:
    stage = staged(linger_ms)

    assert [stage.submit(write(word)) for word in "abc"] == ["a", "b", "c"]
    assert stage.log.batches == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(
    ("linger_ms", "batches"),
    [
        (ADAPTIVE, [["slow", "a", "b", "slow", "c"]]),
        (0, [["slow"], ["a"], ["b"], ["slow"], ["c"]]),
    ],
)
async def test_events_queued_behind_a_stepwise_event_share_a_batch_unless_linger_is_zero(
    linger_ms: int, batches: list[list[str]]
) -> None:
    stage = staged(linger_ms)
    for event in (slowly, write("a"), read, write("b"), slowly, write("c")):
        assert isinstance(stage.submit(event), Delayed)
    stage.shard.go_on(inf)

    assert stage.log.batches == batches
    assert stage.answers == ["slow", "a", ["slow", "a"], "b", "slow", "c"]
    assert not stage.shard.busy
    assert stage.timers.waiting == 0
    assert stage.submit(write("d")) == "d"  # as ever


async def test_events_gathered_behind_steps_are_written_at_the_end_of_the_slice() -> None:
    times = [far_on()]
    stage = Stage(lambda: times.pop(0) if len(times) > 1 else times[0])
    stage.activate()
    stage.submit(slowly)
    for word in "abcd":
        stage.submit(write(word))
    while not stage.answers:
        stage.shard.go_on(0.0)
    times[:] = [0.0, 1.0, far_on()]
    stage.shard.go_on(1.0)

    assert stage.log.batches == [["slow"], ["a", "b"]]
    assert stage.answers == ["slow", "a", "b"]
    assert stage.shard.figures()["open"] == 0
    drain(stage)
    assert stage.log.batches[2:] == [["c"], ["d"]]


async def test_stepwise_event_is_written_with_the_event_queued_behind() -> None:
    stage = staged(ADAPTIVE)
    stage.submit(slowly)
    stage.submit(write("a"))
    drain(stage, inf)

    assert stage.answers == ["slow", "a"]
    assert stage.log.batches == [["slow", "a"]]


async def test_full_batch_of_queued_events_is_written_before_the_next_batch() -> None:
    stage = staged(ADAPTIVE)
    stage.submit(slowly)
    for number in range(150):
        stage.submit(write(f"w{number}"))
    stage.shard.go_on(inf)

    assert [len(batch) for batch in stage.log.batches] == [100, 51]
    assert stage.answers == ["slow", *(f"w{number}" for number in range(150))]
