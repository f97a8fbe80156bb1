"""Effects of events: records, answers when these are committed, in their order; losses."""

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import Stage, Words, read, write
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


@pytest.fixture
async def stage() -> Stage:
    new_stage = Stage()
    new_stage.activate()
    return new_stage


async def test_event_with_committed_records_is_answered_at_once(stage: Stage) -> None:
    assert stage.submit(write("a")) == "a"

    assert stage.submit(read) == ["a"]
    assert [record.key for record in stage.log.records] == ["a"]


async def test_an_answer_waits_until_its_records_are_committed(stage: Stage) -> None:
    stage.log.end = 0

    assert isinstance(stage.submit(write("a")), Delayed)
    assert isinstance(stage.submit(write("b")), Delayed)
    assert stage.answers == []

    assert stage.log.watched == 1
    stage.commit(1)
    assert stage.answers == ["a"]
    assert stage.log.watched == 2
    stage.commit(2)
    assert stage.answers == ["a", "b"]
    assert stage.log.changed is None


@pytest.mark.parametrize("knows", [True, False])
async def test_answers_are_given_in_the_order_of_the_events(stage: Stage, knows: bool) -> None:
    stage.log.end, stage.log.knows = 0, knows
    stage.submit(write("a"))
    stage.log.end = 2  # and nobody has been told yet

    assert isinstance(stage.submit(write("b")), Delayed)
    stage.commit(2)

    assert stage.answers == ["a", "b"]


async def test_read_waits_until_earlier_records_are_committed(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    assert isinstance(stage.submit(read), Delayed)
    stage.commit(1)

    assert stage.answers == ["a", ["a"]]


async def test_refused_records_are_not_replayed_and_the_error_is_the_answer(stage: Stage) -> None:
    stage.log.error = KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)

    with pytest.raises(KafkaError, match="RECORD_LIST_TOO_LARGE"):
        stage.submit(write("a"))

    assert stage.machine.words == []


async def test_callback_for_refused_records_determines_the_answer(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(trio.current_time)
    stage.activate()

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(
            records=[CoordinatorRecord("a")],
            answers=[(ticket, "written")],
            refused=lambda error, _now_ms: Effects(answers=[(ticket, error.code)]),
        )

    stage.log.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    assert stage.submit(event) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_followup_of_a_commit_is_written_and_answered(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(trio.current_time)
    stage.activate()

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(
            records=[CoordinatorRecord("a")],
            committed=lambda _now_ms: Effects(
                records=[CoordinatorRecord("b")], answers=[(ticket, "both")]
            ),
        )

    assert stage.submit(event) == "both"
    assert stage.machine.words == ["a", "b"]


async def test_records_without_replay_are_written_but_not_replayed(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(records=[CoordinatorRecord("a")], answers=[(ticket, "a")], replays=False)

    stage.submit(event)

    assert stage.machine.words == []
    assert len(stage.log.records) == 1


async def test_many_records_are_written_in_steps_while_other_events_wait(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(f"w{number}") for number in range(250)]
        return Effects(records=records, answers=[(ticket, "all")])

    stage.submit(event)
    stage.submit(write("last"))
    assert stage.log.records == []

    passes = 0
    while stage.shard.busy:
        stage.shard.go_on(0.0)
        passes += 1

    assert passes > 4
    assert stage.answers == ["all", "last"]
    assert len(stage.machine.words) == len(stage.log.records) == 251
    assert stage.machine.words[-1] == "last"


async def test_lost_records_unload_the_shard_and_fail_its_requests(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    stage.log.lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    stage.commit(0)

    assert stage.failures == [stage.shard]
    assert stage.shard.state is ShardState.UNLOADED
    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]


@pytest.mark.parametrize(
    "way", ["at once", "in steps", "when committed", "when committed, in steps"]
)
async def test_many_answers_and_timers_are_performed_in_slices(stage: Stage, way: str) -> None:
    """Of 250 nobody is forgotten, and no slice has more than 100."""
    tickets: list[Ticket] = []
    calls: list[str] = []

    def seen() -> tuple[int, ...]:
        return len(stage.answers), len(stage.shard.keyed_timers), len(stage.log.records), len(calls)

    def park(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        tickets.append(ticket)
        return Effects()

    def many(_now_ms: int) -> Effects:
        calls.append("effects")
        effects = Effects(answers=[(ticket, "told") for ticket in tickets])
        for number in range(len(tickets)):
            effects.set_timer(("t", number), 1000)
        return effects

    def answer_all(_machine: Words, _ticket: Ticket, now_ms: int) -> Effects | Steps[Effects]:
        if "committed" in way:
            effects = Effects(records=[CoordinatorRecord("a")], committed=many)
        else:
            effects = many(now_ms)
        return after_a_step(effects) if "steps" in way else effects

    def after_a_step(effects: Effects) -> Steps[Effects]:
        yield
        return effects

    for _ in range(250):
        stage.submit(park)
    stage.submit(answer_all)
    slices = []
    while stage.shard.busy:
        before = seen()
        stage.shard.go_on(0.0)
        slices.append([now - then for now, then in zip(seen(), before, strict=True)])

    assert stage.answers == ["told"] * 250
    assert len(stage.shard.keyed_timers) == 250
    assert max(max(counts) for counts in slices) == 100
    for answered, timers, written, decided in slices:  # each may take long by itself
        assert (answered + timers > 0) + (written > 0) + (decided > 0) <= 1
    assert stage.machine.words == (["a"] if "committed" in way else [])


async def test_many_timers_after_loading_are_set_in_slices() -> None:
    stage = Stage()
    effects = Effects()
    for number in range(250):
        effects.set_timer(("t", number), 1000)
    stage.machine.begin = lambda _now_ms: effects

    stage.shard.activate()
    result = [len(stage.shard.keyed_timers)]
    while stage.shard.busy:
        stage.shard.go_on(0.0)
        result.append(len(stage.shard.keyed_timers))

    assert result == [0, 0, 100, 200, 250]


async def test_exception_in_a_followup_of_a_commit_reloads_the_shard(stage: Stage) -> None:
    def follow(_now_ms: int) -> Effects:
        raise ValueError("a bug")

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord("a")]
        return Effects(records=records, answers=[(ticket, "a")], committed=follow)

    stage.log.end = 0
    stage.submit(event)
    stage.submit(write("b"))
    stage.commit(2)

    assert stage.failures == [stage.shard]
    assert stage.answers == ["a", "b"]  # which are written, whatever follows
