"""What becomes of an open batch that cannot be written, and of whoever waits for it."""

from math import inf
from typing import Any

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.kit import (
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
from trio_kafka.coordinators.batch_accumulator import ADAPTIVE
from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, Ticket
from trio_kafka.coordinators.protocols import ShardState
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)


async def test_whoever_is_in_a_refused_batch_is_told_and_the_shard_is_loaded_anew(
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
        assert [getattr(one, "code", one) for one in stage.told] == [
            code, code, code, ErrorCode.NOT_COORDINATOR
        ]  # fmt: skip
        assert stage.failures == [stage.shard]
        assert stage.shard.state is ShardState.UNLOADED
        assert stage.log.records == []
        assert stage.shard.figures()["refused"] == 3
        assert stage.timers.waiting == 0


async def test_an_event_that_finds_no_room_in_a_batch_that_is_refused_is_told() -> None:
    stage = staged(5)
    stage.log.room = 3
    stage.submit(many(2))
    stage.log.error = REFUSED

    with pytest.raises(KafkaError, match="NOT_COORDINATOR"):
        stage.submit(many(2))
    assert [error.code for error in stage.told] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert stage.machine.words == ["w0", "w1"]  # which nobody asks any more
    assert stage.failures == [stage.shard]
    assert stage.shard.figures()["waiting"] == 0


async def test_a_log_that_takes_nothing_refuses_before_anything_is_replayed() -> None:
    stage = staged(5)
    stage.log.closed = REFUSED

    with pytest.raises(KafkaError, match="COORDINATOR_NOT_AVAILABLE"):
        stage.submit(write("a"))
    assert stage.machine.words == []
    assert stage.failures == []
    assert stage.submit(read) == []


async def test_records_that_are_lost_after_they_were_written_are_told(
    autojump_clock: MockClock,
) -> None:
    async with lingering() as stage:
        stage.log.end = 0
        stage.submit(write("a"))
        stage.submit(write("b"))
        await trio.sleep(0.006)
        assert stage.told == []
        stage.log.lost = REFUSED
        stage.commit(0)

        assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR] * 2
        assert stage.failures == [stage.shard]


async def test_what_would_follow_is_forgotten_when_what_is_behind_it_is_lost(
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

    assert (stage.told[0], stage.told[1].code) == ("a", ErrorCode.NOT_COORDINATOR)
    assert followed == []
    assert not stage.shard.busy


async def test_what_breaks_when_a_batch_is_written_loads_the_shard_anew(
    autojump_clock: MockClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    def breaks(*_arguments: Any) -> None:
        raise ValueError("a bug")

    async with lingering() as stage:
        stage.submit(write("a"))
        monkeypatch.setattr(stage.log, "write", breaks)
        await trio.sleep(0.006)

        assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR]
        assert stage.failures == [stage.shard]


async def test_an_event_that_breaks_takes_the_open_batch_with_it() -> None:
    def breaks(_machine: Words, _ticket: Ticket, _now_ms: int) -> Effects:
        raise ValueError("a bug")

    stage = staged(5)
    stage.submit(write("a"))

    with pytest.raises(KafkaError, match="UNKNOWN_SERVER_ERROR"):
        stage.submit(breaks)
    assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR]
    assert stage.log.records == []
    assert stage.timers.waiting == 0


async def test_unloaded_it_writes_nothing_more_and_tells_all(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        stage.submit(write("a"))
        stage.submit(read)
        stage.unload()
        assert [error.code for error in stage.told] == [ErrorCode.NOT_COORDINATOR] * 2
        assert stage.timers.waiting == 0
        await trio.sleep(0.1)

        assert stage.log.batches == []
        assert not stage.shard.busy


async def test_a_lost_batch_of_what_has_queued_up_ends_the_slice() -> None:
    stage = staged(ADAPTIVE)
    stage.submit(slowly)
    for word in "abc":
        stage.submit(write(word))
    stage.submit(slowly)
    while not stage.told:
        stage.shard.go_on(0.0)
    stage.log.error = REFUSED
    stage.shard.go_on(inf)

    codes = [getattr(one, "code", one) for one in stage.told]
    assert codes == ["slow"] + [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 4
    assert stage.failures == [stage.shard]
    assert not stage.shard.busy


async def test_a_broken_invariant_is_not_swallowed(monkeypatch: pytest.MonkeyPatch) -> None:
    def breaks(*_arguments: Any) -> None:
        raise InvariantError("what can never be")

    stage = staged(ADAPTIVE)
    for event in (slowly, write("a"), write("b")):
        stage.submit(event)
    monkeypatch.setattr(stage.log, "write", breaks)

    with pytest.raises(InvariantError):
        drain(stage, inf)
