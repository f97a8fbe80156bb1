"""BatchAccumulator changes when records are written and in which batches, and nothing else."""

from itertools import count

import trio
from attrs import frozen
from hypothesis import given
from hypothesis import strategies as st
from trio.testing import MockClock

from tests.coordinators.shards.kit import Stage, Words, end_round
from trio_kafka.coordinators.shards.batch_accumulator import ADAPTIVE
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.shards.protocols import Event
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps


@frozen
class Act:
    """One event, and what happens before it. committed: records, from the first on."""

    sleep_ms: int
    records: int
    pauses: int
    replays: bool
    atomic: bool
    fails: bool
    follows: bool
    committed: int | None


ACTS = st.lists(
    st.builds(
        Act,
        sleep_ms=st.sampled_from((0, 0, 0, 1, 4, 10)),
        records=st.sampled_from((0, 0, 1, 1, 1, 2, 5, 101, 130)),
        pauses=st.sampled_from((0, 0, 0, 0, 1, 3)),
        replays=st.sampled_from((True, True, True, False)),
        atomic=st.booleans(),
        fails=st.sampled_from((False, False, False, False, True)),
        follows=st.sampled_from((False, False, False, True)),
        committed=st.none() | st.integers(0, 100),
    ),
    max_size=25,
)


def event_of(number: int, act: Act) -> Event[Words]:
    """It answers with what it has seen, and writes records of its own."""

    def event(machine: Words, ticket: Ticket, _now_ms: int) -> Effects | Steps[Effects]:
        return in_steps(machine, ticket) if act.pauses else effects(machine, ticket)

    def in_steps(machine: Words, ticket: Ticket) -> Steps[Effects]:
        for _ in range(act.pauses):
            yield
        return effects(machine, ticket)

    def effects(machine: Words, ticket: Ticket) -> Effects:
        if act.fails:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        seen = (number, len(machine.words), machine.words[-1:])
        records = [CoordinatorRecord((number, n)) for n in range(act.records)]
        new_effects = Effects(records, replays=act.replays, atomic=act.atomic)
        if not act.follows:
            return new_effects.answer(ticket, seen)
        new_effects.committed = lambda _now_ms: Effects(answers=[(ticket, ("followed", *seen))])
        return new_effects

    return event


async def drive(
    acts: list[Act], linger_ms: int, room: int, turns: int, knows: bool
) -> tuple[Stage, list[str]]:
    """All acts on a new shard, until everybody has an answer: these. turns: of a slice. knows: see
    `KeptLog`. What happens without a sleep in between is a round of a reader.
    """
    times = count()
    stage = Stage(times.__next__, linger_ms=linger_ms)
    stage.log.room, stage.log.knows = room, knows
    if any(act.committed is not None for act in acts):
        stage.log.end = 0
    stage.activate()
    tickets = []

    async def work() -> None:
        while True:
            await trio.sleep(0.0007)
            stage.shard.go_on(next(times) + turns)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(stage.timers.run)
        nursery.start_soon(work)
        stage.rounds.begin()
        for number, act in enumerate(acts):
            if act.sleep_ms:
                end_round(stage)
                await trio.sleep(act.sleep_ms / 1000)
                stage.rounds.begin()
            if act.committed is not None:
                stage.log.end = max(stage.log.end, len(stage.log.records) * act.committed // 100)
                if stage.log.changed is not None:
                    stage.log.changed()
            tickets.append(stage.shard.ask(event_of(number, act)))
        end_round(stage)
        await trio.sleep(0.08)
        stage.commit(1 << 60)
        await trio.sleep(0.08)
        nursery.cancel_scope.cancel()
    return stage, [str(ticket.answer) for ticket in tickets]


@given(
    ACTS,
    st.sampled_from((ADAPTIVE, 1, 5, 50)),
    st.sampled_from((5, 7, 1 << 60)),
    st.sampled_from((0, 3, 50)),
    st.booleans(),
)
def test_batching_does_not_change_answers_records_or_state(
    acts: list[Act], linger_ms: int, room: int, turns: int, knows: bool
) -> None:
    (plain, immediate_reply), (gathered, deferred_reply) = (
        trio.run(drive, acts, linger, room, turns, knows, clock=MockClock(autojump_threshold=0))
        for linger in (0, linger_ms)
    )

    assert gathered.machine.words == plain.machine.words
    assert gathered.log.records == plain.log.records
    assert deferred_reply == immediate_reply
    assert gathered.failures == plain.failures == []
    figures = gathered.shard.figures()
    assert (figures["open"], figures["waiting"], figures["uncommitted"]) == (0, 0, 0)
    assert gathered.timers.waiting == 0
    for words in gathered.log.batches:
        whole = {number for number, nth in words if nth == 0}
        last = {number for number, nth in words if nth == acts[number].records - 1}
        assert whole == last  # no event is in two batches
