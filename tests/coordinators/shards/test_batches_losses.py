"""An open batch, and those that wait for it, when it cannot be written."""

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import (
    REFUSED,
    Words,
    drain,
    lingering,
    many,
    read,
    slowly,
    staged,
    write,
)
from trio_kafka.coordinators.shards.batch_accumulator import ADAPTIVE
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


async def test_refused_batch_fails_its_requests_and_reloads_the_shard(
    autojump_clock: MockClock,
) -> None:
    parked: list[Ticket] = []

    def park(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        parked.append(ticket)
        return Effects()

    def with_a_word(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        return Effects(
            records=[CoordinatorRecord("a")],
            answers=[(ticket, "written")],
            refused=lambda error, _now_ms: Effects(answers=[(ticket, error.code)]),
        )

    async with lingering() as stage:
        stage.submit(park)
        stage.submit(write("a"))
        stage.submit(with_a_word)
        stage.submit(read)
        stage.log.error = REFUSED
        await trio.sleep(0.006)

        code = ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert [getattr(answer, "code", answer) for answer in stage.answers] == [
            code, code, code, ErrorCode.NOT_COORDINATOR
        ]  # fmt: skip
        assert stage.failures == [stage.shard]
        assert stage.shard.state is ShardState.UNLOADED
        assert stage.log.records == []
        assert stage.shard.figures()["refused"] == 3
        assert stage.timers.waiting == 0


async def test_event_without_room_fails_when_the_full_batch_is_refused() -> None:
    stage = staged(5)
    stage.log.room = 3
    stage.submit(many(2))
    stage.log.error = REFUSED

    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(many(2))
    assert [error.code for error in stage.answers] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert stage.machine.words == ["w0", "w1"]  # which nobody asks any more
    assert stage.failures == [stage.shard]
    assert stage.shard.figures()["waiting"] == 0


async def test_closed_log_refuses_an_event_before_its_replay() -> None:
    stage = staged(5)
    stage.log.closed = REFUSED

    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        stage.submit(write("a"))
    assert stage.machine.words == []
    assert stage.failures == []
    assert stage.submit(read) == []


async def test_requests_fail_when_their_written_records_are_lost(
    autojump_clock: MockClock,
) -> None:
    async with lingering() as stage:
        stage.log.end = 0
        stage.submit(write("a"))
        stage.submit(write("b"))
        await trio.sleep(0.006)
        assert stage.answers == []
        stage.log.lost = REFUSED
        stage.commit(0)

        assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR] * 2
        assert stage.failures == [stage.shard]


async def test_followup_of_a_commit_is_dropped_when_later_records_are_lost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    followed: list[int] = []

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        def follow(now_ms: int) -> Effects:
            followed.append(now_ms)
            return Effects()

        return Effects([CoordinatorRecord("a")], [(ticket, "a")], committed=follow)

    def committed(written: int) -> bool:
        if written == 1:
            return True
        raise REFUSED

    stage = staged(0)
    stage.log.end = 0
    stage.submit(event)
    stage.submit(write("b"))
    monkeypatch.setattr(stage.log, "committed", committed)
    stage.commit(2)

    assert (stage.answers[0], stage.answers[1].code) == ("a", ErrorCode.NOT_COORDINATOR)
    assert followed == []
    assert not stage.shard.busy


async def test_exception_while_writing_a_batch_reloads_the_shard(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_arguments: Any) -> None:
        raise ValueError("a bug")

    async with lingering() as stage:
        stage.submit(write("a"))
        monkeypatch.setattr(stage.log, "write", breaks)
        await trio.sleep(0.006)

        assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
        assert stage.failures == [stage.shard]


async def test_exception_in_an_event_discards_the_open_batch() -> None:
    def breaks(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
        raise ValueError("a bug")

    stage = staged(5)
    stage.submit(write("a"))

    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        stage.submit(breaks)
    assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR]
    assert stage.log.records == []
    assert stage.timers.waiting == 0


async def test_unloaded_shard_discards_its_open_batch_and_fails_waiting_requests(
    autojump_clock: MockClock,
) -> None:
    async with lingering() as stage:
        stage.submit(write("a"))
        stage.submit(read)
        stage.unload()
        assert [error.code for error in stage.answers] == [ErrorCode.NOT_COORDINATOR] * 2
        assert stage.timers.waiting == 0
        await trio.sleep(0.1)

        assert stage.log.batches == []
        assert not stage.shard.busy


async def test_refused_batch_of_queued_events_fails_all_queued_events() -> None:
    stage = staged(ADAPTIVE)
    stage.submit(slowly)
    for word in "abc":
        stage.submit(write(word))
    stage.submit(slowly)
    while not stage.answers:
        stage.shard.go_on(0.0)
    stage.log.error = REFUSED
    stage.shard.go_on(inf)

    codes = [getattr(answer, "code", answer) for answer in stage.answers]
    assert codes == ["slow"] + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 4
    assert stage.failures == [stage.shard]
    assert not stage.shard.busy


async def test_invariant_error_while_writing_a_batch_propagates(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def breaks(*_arguments: Any) -> None:
        raise InvariantError("what can never be")

    stage = staged(ADAPTIVE)
    for event in (slowly, write("a"), write("b")):
        stage.submit(event)
    monkeypatch.setattr(stage.log, "write", breaks)

    with pytest.raises(InvariantError):
        drain(stage, inf)
