"""A shard: one writer, answers when records are committed, timers, and failure."""

from collections.abc import Callable
from itertools import count

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.kit import Stage, Words, read, write
from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, Ticket, TimerKey
from trio_kafka.coordinators.roles import Event
from trio_kafka.coordinators.state import State
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.purgatory import Delayed
from trio_kafka.steps import Steps


@pytest.fixture
async def stage() -> Stage:
    made = Stage()
    made.shard.activate()
    return made


async def test_what_is_written_and_committed_is_answered_at_once(stage: Stage) -> None:
    assert stage.submit(write("a")) == "a"

    assert stage.submit(read) == ["a"]
    assert [record.key for record in stage.log.records] == ["a"]


async def test_an_answer_waits_until_its_records_are_committed(stage: Stage) -> None:
    stage.log.end = 0

    assert isinstance(stage.submit(write("a")), Delayed)
    assert isinstance(stage.submit(write("b")), Delayed)
    assert stage.told == []

    assert stage.log.watched == 1
    stage.commit(1)
    assert stage.told == ["a"]
    assert stage.log.watched == 2
    stage.commit(2)
    assert stage.told == ["a", "b"]
    assert stage.log.changed is None


@pytest.mark.parametrize("knows", [True, False])
async def test_nobody_is_answered_before_those_who_came_before(stage: Stage, knows: bool) -> None:
    stage.log.end, stage.log.knows = 0, knows
    stage.submit(write("a"))
    stage.log.end = 2  # and nobody has been told yet

    assert isinstance(stage.submit(write("b")), Delayed)
    stage.commit(2)

    assert stage.told == ["a", "b"]


async def test_what_was_loaded_is_not_told_before_it_is_committed() -> None:
    stage = Stage()
    stage.log.end = 0
    stage.machine.words.append("a")
    stage.shard.activate(1)

    assert isinstance(stage.submit(read), Delayed)
    stage.commit(1)

    assert stage.told == [["a"]]


async def test_what_was_loaded_and_is_lost_at_once_is_loaded_again() -> None:
    stage = Stage()
    stage.log.lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    stage.shard.activate(1)

    assert stage.failures == [stage.shard]
    assert stage.shard.state is State.UNLOADED
    assert stage.log.changed is None


async def test_a_read_waits_for_what_it_has_seen(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    assert isinstance(stage.submit(read), Delayed)
    stage.commit(1)

    assert stage.told == ["a", ["a"]]


async def test_refused_records_are_not_replayed_and_the_error_is_the_answer(stage: Stage) -> None:
    stage.log.error = KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE)

    with pytest.raises(KafkaError, match="RECORD_LIST_TOO_LARGE"):
        stage.submit(write("a"))

    assert stage.machine.words == []


async def test_who_wants_to_know_of_a_refusal_answers_itself(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(
            records=[CoordinatorRecord("a")],
            answers=[(ticket, "written")],
            refused=lambda error, _now_ms: Effects(answers=[(ticket, error.code)]),
        )

    stage.log.error = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    assert stage.submit(event) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_what_follows_a_commit_follows_it(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(
            records=[CoordinatorRecord("a")],
            committed=lambda _now_ms: Effects(
                records=[CoordinatorRecord("b")], answers=[(ticket, "both")]
            ),
        )

    assert stage.submit(event) == "both"
    assert stage.machine.words == ["a", "b"]


async def test_records_whose_machine_has_changed_already_are_not_replayed(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(records=[CoordinatorRecord("a")], answers=[(ticket, "a")], replays=False)

    stage.submit(event)

    assert stage.machine.words == []
    assert len(stage.log.records) == 1


async def test_an_error_of_the_machine_is_the_answer(stage: Stage) -> None:
    def event(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    with pytest.raises(KafkaError, match="UNKNOWN_MEMBER_ID"):
        stage.submit(event)


async def test_much_is_written_in_steps_and_others_wait(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(f"w{number}") for number in range(250)]
        return Effects(records=records, answers=[(ticket, "all")])

    stage.submit(event)
    stage.submit(write("last"))
    assert stage.log.records == []

    passes = 0
    while stage.shard.busy:
        stage.shard.go_on(trio.current_time, 0.0)
        passes += 1

    assert passes > 4
    assert stage.told == ["all", "last"]
    assert len(stage.machine.words) == len(stage.log.records) == 251
    assert stage.machine.words[-1] == "last"


async def test_unloaded_in_the_middle_of_steps_it_ends_there(stage: Stage) -> None:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(f"w{number}") for number in range(250)]
        return Effects(records=records, answers=[(ticket, "all")])

    stage.submit(event)
    stage.shard.go_on(trio.current_time, 0.0)
    stage.unload()

    assert not stage.shard.busy
    assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR]
    assert stage.log.records == []


async def test_what_nobody_waits_for_is_done_however_many_wait(stage: Stage) -> None:
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
        stage.shard.go_on(trio.current_time, 0.0)

    assert len(stage.machine.words) == 10_001
    assert stage.machine.words[-1] == "late"


async def test_events_wait_for_one_that_works_in_steps(stage: Stage) -> None:
    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        yield
        return Effects(records=[CoordinatorRecord("slow")], answers=[(ticket, "slow")])

    stage.submit(slowly)
    stage.submit(write("quick"))
    assert stage.works == [stage.shard]
    assert stage.machine.words == []

    while stage.shard.busy:
        stage.shard.go_on(trio.current_time, 0.0)

    assert stage.machine.words == ["slow", "quick"]
    assert stage.told == ["slow", "quick"]


@pytest.mark.parametrize(("again", "due"), [(True, [("session",)]), (False, [])])
async def test_a_timer_that_is_set_or_cancelled_before_its_turn_is_not_due(
    autojump_clock: MockClock, again: bool, due: list[TimerKey]
) -> None:
    """A member is heard of, or leaves, while its session's end waits behind an event that takes
    steps.
    """
    stage = Stage()
    stage.shard.activate()

    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects(answers=[(ticket, None)])

    def heard(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(answers=[(ticket, None)]).set_timer(("session",), 100)

    def leaves(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(answers=[(ticket, None)]).cancel_timer(("session",))

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        stage.submit(heard)
        await trio.sleep(0.05)
        stage.submit(slowly)
        stage.submit(heard if again else leaves)
        await trio.sleep(0.06)
        stage.commit(stage.log.end)
        assert stage.machine.due == []
        await trio.sleep(0.2)
        nursery.cancel_scope.cancel()

    assert [key for key, _ in stage.machine.due] == due


async def test_a_timer_that_is_put_off_is_due_later_and_one_that_is_cancelled_never(
    autojump_clock: MockClock,
) -> None:
    stage = Stage()
    stage.shard.activate()
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


async def test_whoever_looks_sees_what_is_due(stage: Stage, autojump_clock: MockClock) -> None:
    stage.shard.apply(lambda _machine, _now_ms: Effects().set_timer(("session", "g", "m"), 2500))
    await trio.sleep(1)

    assert stage.shard.alarms.figures() == {"session g m": 1.5}


async def test_who_waits_too_long_is_told_so_and_what_was_written_stays(
    autojump_clock: MockClock,
) -> None:
    stage = Stage()
    stage.shard.activate()
    stage.log.end = 0
    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        stage.submit(write("a"), timeout_s=5.0)
        await trio.sleep(5.1)
        nursery.cancel_scope.cancel()

    assert [str(error) for error in stage.told] == ["COORDINATOR_NOT_AVAILABLE: no answer in time"]
    stage.commit(1)
    assert stage.machine.words == ["a"]


async def test_unloaded_it_tells_all_who_wait_and_who_come(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    stage.unload()

    assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR]
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(read)
    assert stage.log.changed is None


async def test_unloaded_it_leaves_no_timer_behind(stage: Stage) -> None:
    stage.submit(lambda _machine, ticket, _now: Effects().set_timer(("t",), 1).answer(ticket, 0))
    assert stage.shard.figures()["timers"] == 1

    stage.unload()

    assert stage.shard.figures()["timers"] == 0


async def test_one_that_loads_says_so() -> None:
    with pytest.raises(KafkaError, match="COORDINATOR_LOAD_IN_PROGRESS"):
        Stage().submit(read)


async def test_lost_records_make_it_load_anew(stage: Stage) -> None:
    stage.log.end = 0
    stage.submit(write("a"))

    stage.log.lost = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)
    stage.commit(0)

    assert stage.failures == [stage.shard]
    assert stage.shard.state is State.UNLOADED
    assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR]


async def test_what_waits_for_its_turn_has_it_in_slices(stage: Stage) -> None:
    def slowly(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        return Effects(answers=[(ticket, "done")])

    stage.submit(slowly)
    for number in range(5):
        stage.submit(write(f"w{number}"))
    while not stage.told:
        stage.shard.go_on(trio.current_time, 0.0)
    assert stage.machine.words == []

    stage.submit(write("last"))  # behind the others, though nothing works in steps any more
    stage.shard.go_on(trio.current_time, 0.0)
    assert stage.machine.words == ["w0"]
    while stage.shard.busy:
        stage.shard.go_on(trio.current_time, 0.0)

    assert stage.machine.words == ["w0", "w1", "w2", "w3", "w4", "last"]


def in_steps(pauses: int) -> Event[Words]:
    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        for _ in range(pauses):
            yield
        return Effects(records=[CoordinatorRecord("a")], answers=[(ticket, "done")])

    return event


async def test_the_steps_of_a_request_are_taken_at_once_while_they_are_few() -> None:
    times = count(0, 0.0001)
    stage = Stage(lambda: next(times))
    stage.shard.activate()

    assert stage.submit(in_steps(5)) == "done"
    assert not stage.shard.busy
    assert isinstance(stage.submit(in_steps(50)), Delayed)
    before = next(times)
    assert isinstance(stage.submit(in_steps(1)), Delayed)  # it waits for its turn
    assert next(times) - before < 0.0002  # and nobody works for it meanwhile
    stage.commit(stage.log.end)

    assert stage.told == ["done", "done"]


async def test_an_event_that_breaks_in_steps_that_are_taken_at_once_is_told() -> None:
    def breaks(_machine: Words, _ticket: Ticket, _now_ms: int) -> Steps[Effects]:
        yield
        raise ValueError("a bug")

    stage = Stage(lambda: 0.0)
    stage.shard.activate()

    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(breaks)
    assert stage.failures == [stage.shard]


@pytest.mark.parametrize(
    "way", ["at once", "in steps", "when committed", "when committed, in steps"]
)
async def test_many_are_answered_and_many_timers_set_in_slices(stage: Stage, way: str) -> None:
    """Of 250 nobody is forgotten, and no slice has more than 100."""
    tickets: list[Ticket] = []
    made: list[str] = []

    def seen() -> tuple[int, ...]:
        return len(stage.told), len(stage.shard.alarms), len(stage.log.records), len(made)

    def park(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        tickets.append(ticket)
        return Effects()

    def many(_now_ms: int) -> Effects:
        made.append("effects")
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
        stage.shard.go_on(trio.current_time, 0.0)
        slices.append([now - then for now, then in zip(seen(), before, strict=True)])

    assert stage.told == ["told"] * 250
    assert len(stage.shard.alarms) == 250
    assert max(max(one) for one in slices) == 100
    for told, timers, written, decided in slices:  # each may take long by itself
        assert (told + timers > 0) + (written > 0) + (decided > 0) <= 1
    assert stage.machine.words == (["a"] if "committed" in way else [])


async def test_the_timers_of_many_that_were_loaded_are_set_in_slices() -> None:
    stage = Stage()
    effects = Effects()
    for number in range(250):
        effects.set_timer(("t", number), 1000)
    stage.machine.loaded = lambda _now_ms: effects  # type: ignore[method-assign]

    stage.shard.activate()
    found = [len(stage.shard.alarms)]
    while stage.shard.busy:
        stage.shard.go_on(trio.current_time, 0.0)
        found.append(len(stage.shard.alarms))

    assert found == [0, 100, 200, 250]


@pytest.mark.parametrize("waits", [False, True])
async def test_an_event_that_breaks_is_told_and_its_shard_is_loaded_anew(
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
            stage.shard.go_on(trio.current_time, 0.0)
        assert stage.told[-1].code is ErrorCode.NOT_COORDINATOR
    else:
        with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
            stage.submit(breaks)
    assert stage.failures == [stage.shard]


async def test_what_breaks_when_an_answer_becomes_due_loads_the_shard_anew(stage: Stage) -> None:
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
    assert stage.told == ["a", "b"]  # which are written, whatever follows


async def test_one_that_cannot_begin_is_not_loaded_again_and_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def loaded(_machine: Words, _now_ms: int) -> Effects:
        raise ValueError("a bug")

    monkeypatch.setattr(Words, "loaded", loaded)
    stage = Stage()
    stage.shard.activate()

    assert (stage.shard.state, stage.failures) == (State.FAILED, [])
    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(read)
