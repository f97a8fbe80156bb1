"""Events that come in one round of a reader, gathered by a shard."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import (
    REFUSED,
    Stage,
    Words,
    drain,
    end_round,
    read,
    slowly,
    staged,
    write,
)
from trio_kafka.coordinators.shards.batch_accumulator import ADAPTIVE
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.shards.pending_reply import NOT_YET, PendingReply
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


@pytest.fixture
async def stage(autojump_clock: MockClock) -> Stage:
    stage = Stage(elapsed=trio.current_time)
    stage.activate()
    return stage


@contextmanager
def a_round(stage: Stage) -> Iterator[None]:
    """Requests that a reader serves in one go."""
    stage.rounds.begin()
    yield
    end_round(stage)


def ask(stage: Stage, *words: str) -> list[PendingReply]:
    return [stage.shard.ask(write(word)) for word in words]


def answers(tickets: list[PendingReply]) -> list[Any]:
    return [None if ticket.answer is NOT_YET else ticket.answer for ticket in tickets]


FIRST = "x"  # of a round: it is written alone


async def test_first_event_of_a_round_is_written_at_once_and_the_rest_at_the_end(
    stage: Stage,
) -> None:
    with a_round(stage):
        tickets = ask(stage, "a", "b", "c", "d")
        assert answers(tickets) == ["a", None, None, None]
        assert [ticket.soon for ticket in tickets] == [False, True, True, True]
        assert stage.machine.words == ["a", "b", "c", "d"]
        assert stage.log.batches == [["a"]]

    assert answers(tickets) == ["a", "b", "c", "d"]
    assert stage.log.batches == [["a"], ["b", "c", "d"]]
    assert stage.shard.figures()["waiting"] == 0


async def test_reads_wait_for_gathered_writes_and_do_not_count_as_first_event(stage: Stage) -> None:
    with a_round(stage):
        assert answers([stage.shard.ask(read)]) == [[]]
        ask(stage, FIRST, "a")
        responses = [stage.shard.ask(read) for _ in range(3)]
        assert answers(responses) == [None] * 3
    assert answers(responses) == [["x", "a"]] * 3


async def test_single_event_of_a_round_is_written_and_answered_at_once(stage: Stage) -> None:
    for word in "abc":
        with a_round(stage):
            assert answers(ask(stage, word)) == [word]

    assert stage.log.batches == [["a"], ["b"], ["c"]]


async def test_heartbeat_waits_for_gathered_writes_of_its_round(stage: Stage) -> None:
    def lives(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects().answer(ticket, "lives").set_timer(("session", "m"), 1000)

    with a_round(stage):
        ask(stage, FIRST, "a")
        ticket = stage.shard.ask(lives)
        assert ticket.answer is NOT_YET
        assert ticket.soon
    assert ticket.answer == "lives"
    assert len(stage.shard.keyed_timers) == 1


async def test_reply_that_waits_for_replicas_is_not_marked_as_soon(stage: Stage) -> None:
    stage.log.end = 0
    with a_round(stage):
        (ticket,) = ask(stage, "a")
        assert ticket.answer is NOT_YET
        assert not ticket.soon


async def test_events_outside_of_rounds_are_written_at_once(stage: Stage) -> None:
    assert answers(ask(stage, "a", "b", "c")) == ["a", "b", "c"]
    assert stage.log.batches == [["a"], ["b"], ["c"]]


@pytest.mark.parametrize(("linger_ms", "batches"), [(0, 3), (5, 0)])
async def test_configured_linger_overrides_gathering_by_rounds(
    autojump_clock: MockClock, linger_ms: int, batches: int
) -> None:
    stage = Stage(linger_ms=linger_ms)
    stage.activate()

    with a_round(stage):
        tickets = ask(stage, "a", "b", "c")

    assert len(stage.log.batches) == batches
    assert not any(ticket.soon for ticket in tickets)


async def test_events_are_written_separately_when_appends_are_queued(stage: Stage) -> None:
    """A full queue refuses one of them, before it is replayed, and the shard goes on."""
    stage.log.is_calm, stage.log.end = False, 0
    with a_round(stage):
        tickets = ask(stage, FIRST, "a")
        stage.log.error = REFUSED
        tickets += ask(stage, "b", "c")
        stage.log.error = None
        tickets += ask(stage, "d")
    stage.commit(3)

    assert answers(tickets) == [FIRST, "a", REFUSED, REFUSED, "d"]
    assert stage.machine.words == [FIRST, "a", "d"]
    assert stage.failures == []


async def test_events_uncommitted_at_the_end_of_a_round_are_answered_later(stage: Stage) -> None:
    stage.log.end = 0
    with a_round(stage):
        tickets = ask(stage, FIRST, "a", "b")
    assert answers(tickets) == [None] * 3

    stage.commit(2)
    assert answers(tickets) == [FIRST, None, None]  # one batch
    stage.commit(3)
    assert answers(tickets) == [FIRST, "a", "b"]


async def test_refused_batch_of_a_round_fails_its_requests_and_reloads_the_shard(
    stage: Stage,
) -> None:
    with a_round(stage):
        tickets = ask(stage, FIRST, "a", "b")
        stage.log.error = REFUSED

    assert answers(tickets) == [FIRST, REFUSED, REFUSED]
    assert stage.failures == [stage.shard]


async def test_closed_log_refuses_each_event_of_a_round(stage: Stage) -> None:
    with a_round(stage):
        tickets = ask(stage, FIRST)
        stage.log.closed = REFUSED
        tickets += ask(stage, "a", "b")
        assert answers(tickets) == [FIRST, REFUSED, REFUSED]

    assert stage.machine.words == [FIRST]
    assert stage.failures == []


async def test_unloading_within_a_round_discards_the_batch_and_fails_its_requests(
    stage: Stage,
) -> None:
    with a_round(stage):
        tickets = ask(stage, FIRST, "a", "b")
        stage.unload()

    assert stage.log.batches == [["x"]]
    assert [ticket.answer.code for ticket in tickets[1:]] == [ErrorCode.NOT_COORDINATOR] * 2


async def test_exception_after_the_batch_of_a_round_is_written_reloads_the_shard(
    stage: Stage,
) -> None:
    with a_round(stage):
        tickets = ask(stage, FIRST, "a")
        stage.log.committed = broken  # type: ignore[method-assign]
        stage.log.knows = False

    assert stage.failures == [stage.shard]
    assert isinstance(tickets[-1].answer, KafkaError)


def broken(_written: int) -> bool:
    raise ValueError("broken")


async def test_second_answer_of_an_event_raises_an_invariant_error(stage: Stage) -> None:
    def twice(machine: Words, ticket: Any, now_ms: int) -> Effects:
        effects = write("b")(machine, ticket, now_ms)
        assert isinstance(effects, Effects)
        return effects.answer(ticket, "again")

    with pytest.raises(InvariantError), a_round(stage):
        ask(stage, FIRST)
        stage.shard.ask(twice)


async def test_short_stepwise_event_joins_the_batch_of_its_round(stage: Stage) -> None:
    with a_round(stage):
        tickets = ask(stage, FIRST, "a")
        tickets.append(stage.shard.ask(slowly))
        tickets += ask(stage, "b")
        assert answers(tickets) == [FIRST, None, None, None]

    assert answers(tickets) == [FIRST, "a", "slow", "b"]
    assert stage.log.batches == [["x"], ["a", "slow", "b"]]


async def test_long_stepwise_event_is_left_to_the_worker() -> None:
    stage = staged(ADAPTIVE)  # where time is so far on that a slice is one step
    with a_round(stage):
        tickets = ask(stage, FIRST, "a")
        tickets.append(stage.shard.ask(slowly))
        tickets += ask(stage, "b")
    assert answers(tickets) == [FIRST, "a", None, None]
    drain(stage)

    assert answers(tickets) == [FIRST, "a", "slow", "b"]
    assert [record.key for record in stage.log.records] == answers(tickets)


async def test_followup_of_a_commit_in_a_round_is_performed(stage: Stage) -> None:
    def followed(_machine: Words, ticket: Any, _now_ms: int) -> Effects:
        more = Effects(records=[CoordinatorRecord("c")], answers=[(ticket, "c")])
        return Effects(records=[CoordinatorRecord("b")], committed=lambda _now_ms: more)

    with a_round(stage):
        ask(stage, FIRST)
        ticket = stage.shard.ask(followed)
        stage.works.clear()
    assert stage.works == [stage.shard]
    drain(stage)

    assert ticket.answer == "c"
    assert stage.log.batches == [["x"], ["b"], ["c"]]
