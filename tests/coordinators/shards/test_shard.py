"""A shard: one writer, answers when records are committed, timers, and failure."""

from collections.abc import Callable
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import Stage, Words, drain, read, write
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import Event, ShardState
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.purgatory import Delayed
from trio_kafka.scheduling.chunked_work import Steps, whole

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


@pytest.fixture
async def stage() -> Stage:
    new_stage = Stage()
    new_stage.activate()
    return new_stage


async def test_loaded_state_is_not_returned_before_its_commit() -> None:
    stage = Stage()
    stage.log.end = 0
    stage.machine.words.append("a")
    stage.activate(1)

    assert isinstance(stage.submit(read), Delayed)
    stage.commit(1)

    assert stage.answers == [["a"]]


async def test_shard_fails_on_activation_when_its_loaded_records_are_lost() -> None:
    begun: list[int] = []

    def loaded(now_ms: int) -> Effects:
        begun.append(now_ms)
        return Effects()

    stage = Stage()
    stage.machine.begin = loaded
    stage.log.lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    stage.activate(1)

    assert begun == []
    assert stage.failures == [stage.shard]
    assert stage.shard.state is ShardState.UNLOADED
    assert stage.log.changed is None


async def test_request_during_activation_waits_until_the_shard_is_active() -> None:
    stage = Stage()
    stage.machine.begin = lambda _now_ms: Effects(records=[CoordinatorRecord("begun")])
    stage.shard.activate()

    assert isinstance(stage.submit(read), Delayed)
    drain(stage)

    assert stage.answers == [["begun"]]


async def test_unloading_during_activation_writes_nothing_and_fails_requests() -> None:
    stage = Stage()
    stage.machine.begin = lambda _now_ms: Effects(records=[CoordinatorRecord("begun")])
    stage.shard.activate()
    stage.submit(read)
    stage.unload()
    drain(stage)

    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
    assert stage.log.records == []


async def test_kafka_error_of_an_event_is_the_answer(stage: Stage) -> None:
    def event(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        stage.submit(event)


async def test_records_are_appended_with_the_time_that_their_event_got(stage: Stage) -> None:
    event_times: list[int] = []

    def event(_machine: Words, _ticket: Ticket, now_ms: int) -> Effects:
        event_times.append(now_ms)
        return Effects(records=[CoordinatorRecord("w")])

    stage.submit(event)

    assert stage.log.times_ms == event_times
    assert event_times[0] > 0


async def test_unloading_within_a_stepwise_event_aborts_the_event(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(f"w{number}") for number in range(250)]
        return Effects(records=records, answers=[(ticket, "all")])

    stage.submit(event)
    stage.shard.go_on(0.0)
    stage.unload()

    assert not stage.shard.busy
    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
    assert stage.log.records == []


async def test_event_without_a_request_is_accepted_when_the_queue_is_full(stage: Stage) -> None:
    def slowly(_machine: Words, _ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects()

    def late(_machine: Words, now_ms: int) -> Effects:
        del now_ms
        return Effects(records=[CoordinatorRecord("late")])

    stage.submit(slowly)
    for _ in range(10_000):
        stage.submit(write("one"))
    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE: busy"):
        stage.submit(write("one"))
    stage.shard.apply(late)

    while stage.shard.busy:
        stage.shard.go_on(0.0)

    assert len(stage.machine.words) == 10_001
    assert stage.machine.words[-1] == "late"


async def test_events_wait_for_a_stepwise_event_to_finish(stage: Stage) -> None:
    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        yield
        return Effects(records=[CoordinatorRecord("slow")], answers=[(ticket, "slow")])

    stage.submit(slowly)
    stage.submit(write("quick"))
    assert stage.works == [stage.shard]
    assert stage.machine.words == []

    while stage.shard.busy:
        stage.shard.go_on(0.0)

    assert stage.machine.words == ["slow", "quick"]
    assert stage.answers == ["slow", "quick"]


@pytest.mark.parametrize(("again", "due"), [(True, [("session",)]), (False, [])])
async def test_due_timer_that_is_reset_or_cancelled_before_its_turn_does_not_fire(
    autojump_clock: MockClock, again: bool, due: list[TimerKey]
) -> None:
    """A member is heard of, or leaves, while its session's end waits behind an event that takes
    steps.
    """
    stage = Stage()
    stage.activate()

    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects(answers=[(ticket, None)])

    def beats(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(answers=[(ticket, None)]).set_timer(("session",), 100)

    def leaves(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(answers=[(ticket, None)]).cancel_timer(("session",))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        stage.submit(beats)
        await trio.sleep(0.05)
        stage.submit(slowly)
        stage.submit(beats if again else leaves)
        await trio.sleep(0.06)
        stage.commit(stage.log.end)
        assert stage.machine.due == []
        await trio.sleep(0.2)
        nursery.cancel_scope.cancel()

    assert [key for key, _ in stage.machine.due] == due


async def test_postponed_timer_fires_later_and_cancelled_timer_never(
    autojump_clock: MockClock,
) -> None:
    stage = Stage()
    stage.activate()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)

        def event(delay_ms: int) -> Callable[[Words, int], Effects]:
            return lambda _machine, _now_ms: (
                Effects().set_timer(("a",), delay_ms).set_timer(("b",), 50).cancel_timer(("b",))
            )

        stage.shard.apply(event(100))
        await trio.sleep(0.06)
        stage.shard.apply(event(100))
        await trio.sleep(0.08)
        assert stage.machine.due == []
        await trio.sleep(0.03)
        assert stage.machine.due == [(("a",), 160)]
        stage.shard.apply(event(1000))
        stage.shard.apply(event(10))
        await trio.sleep(0.02)
        assert len(stage.machine.due) == 2
        nursery.cancel_scope.cancel()


async def test_inspection_shows_the_remaining_time_of_timers(
    stage: Stage, autojump_clock: MockClock
) -> None:
    stage.shard.apply(lambda _machine, _now_ms: Effects().set_timer(("session", "g", "m"), 2500))
    await trio.sleep(1)

    assert stage.shard.keyed_timers.figures() == {"session g m": 1.5}


async def test_request_that_times_out_fails_but_its_records_stay(
    autojump_clock: MockClock,
) -> None:
    stage = Stage()
    stage.activate()
    stage.log.end = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        stage.submit(write("a"), timeout_s=5.0)
        await trio.sleep(5.1)
        nursery.cancel_scope.cancel()

    assert [str(error) for error in stage.answers] == [
        "COORDINATOR_NOT_AVAILABLE: no answer in time"
    ]
    stage.commit(1)
    assert stage.machine.words == ["a"]


async def test_unloaded_shard_refuses_waiting_and_new_requests(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    stage.unload()

    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(read)
    assert stage.log.changed is None


async def test_unloaded_shard_takes_no_timer_and_no_change_before_its_timers_are_cancelled(
    stage: Stage,
) -> None:
    stage.shard.ask(lambda *_: Effects().set_timer(("t",), 100))
    stage.shard.unload()
    stage.shard.apply(lambda machine, now_ms: machine.timer(("change",), now_ms))
    await trio.sleep(1.0)

    assert stage.machine.due == []
    assert not stage.shard.busy
    whole(stage.shard.dismiss())


async def test_unloaded_shard_has_no_timers(stage: Stage) -> None:
    stage.submit(lambda _machine, ticket, _now: Effects().set_timer(("t",), 1).answer(ticket, 0))
    assert stage.shard.figures()["timers"] == 1

    stage.unload()

    assert stage.shard.figures()["timers"] == 0


async def test_loading_shard_refuses_requests_with_load_in_progress() -> None:
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        Stage().submit(read)


async def test_queued_events_are_processed_in_slices(stage: Stage) -> None:
    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects(answers=[(ticket, "done")])

    stage.submit(slowly)
    for number in range(5):
        stage.submit(write(f"w{number}"))
    while not stage.answers:
        stage.shard.go_on(0.0)
    assert stage.machine.words == []

    stage.submit(write("last"))  # behind the others, though nothing works in steps any more
    stage.shard.go_on(0.0)
    assert stage.machine.words == ["w0"]
    while stage.shard.busy:
        stage.shard.go_on(0.0)

    assert stage.machine.words == ["w0", "w1", "w2", "w3", "w4", "last"]


def in_steps(pauses: int) -> Event[Words]:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        for _ in range(pauses):
            yield
        return Effects(records=[CoordinatorRecord("a")], answers=[(ticket, "done")])

    return event


async def test_few_steps_of_a_request_are_executed_at_once() -> None:
    times = count(0, 0.0001)
    stage = Stage(lambda: next(times))
    stage.activate()

    assert stage.submit(in_steps(5)) == "done"
    assert not stage.shard.busy
    assert isinstance(stage.submit(in_steps(50)), Delayed)
    before = next(times)
    assert isinstance(stage.submit(in_steps(1)), Delayed)  # it waits for its turn
    assert next(times) - before < 0.0002  # and nobody works for it meanwhile
    stage.commit(stage.log.end)

    assert stage.answers == ["done", "done"]


async def test_exception_in_immediate_steps_fails_the_request_and_the_shard() -> None:
    def breaks(_machine: Words, _ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        raise ValueError("a bug")

    stage = Stage(lambda: 0.0)
    stage.activate()

    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        stage.submit(breaks)
    assert stage.failures == [stage.shard]


@pytest.mark.parametrize("waits", [False, True])
async def test_exception_in_an_event_fails_its_request_and_the_shard(
    stage: Stage, waits: bool
) -> None:
    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects(answers=[(ticket, None)])

    def breaks(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
        raise ValueError("a bug")

    if waits:
        stage.submit(slowly)
        stage.submit(breaks)
        while stage.shard.busy:
            stage.shard.go_on(0.0)
        assert stage.answers[-1].code is ErrorCode.UNKNOWN_SERVER_ERROR
    else:
        with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
            stage.submit(breaks)
    assert stage.failures == [stage.shard]


async def test_exception_during_activation_fails_the_shard_and_its_requests(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loaded(_machine: Words, _now_ms: int) -> Steps[Effects]:
        yield
        raise ValueError("a bug")

    monkeypatch.setattr(Words, "loaded", loaded)
    stage = Stage()
    stage.shard.activate()
    stage.submit(read)
    drain(stage)

    assert (stage.shard.state, stage.failures) == (ShardState.UNLOADED, [stage.shard])
    whole(stage.shard.dismiss())
    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(read)
