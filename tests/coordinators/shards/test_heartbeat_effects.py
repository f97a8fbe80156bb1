"""Answers of events without records: given at once, or in order behind what others wrote."""

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import Stage, Words, drain, lingering, slowly, staged, write
from trio_kafka.coordinators.shards.effects import Effects, Ticket, TimerKey
from trio_kafka.purgatory import Delayed

pytestmark = pytest.mark.leaves(
    "no task serves the timers and operations of these shards, which end with the test"
)

KEY: TimerKey = ("session", "g", "m")


def lives(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
    return Effects().answer(ticket, "lives").set_timer(KEY, 3000)


@pytest.fixture
async def stage() -> Stage:
    return staged(0)


async def test_heartbeat_is_answered_at_once_and_sets_the_session_timer(stage: Stage) -> None:
    assert stage.submit(lives) == "lives"
    assert stage.shard.keyed_timers.figures() == {"session g m": 3.0}
    assert stage.log.records == []


async def test_each_heartbeat_restarts_the_session_timer(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        for _ in range(3):
            assert stage.submit(lives) == "lives"
            await trio.sleep(2.5)
        assert stage.machine.due == []
        await trio.sleep(0.6)
        assert [key for key, _ in stage.machine.due] == [KEY]


async def test_heartbeat_is_answered_after_earlier_written_records(stage: Stage) -> None:
    stage.log.end = 0
    assert isinstance(stage.submit(write("a")), Delayed)

    assert isinstance(stage.submit(lives), Delayed)
    assert stage.shard.keyed_timers.figures() == {"session g m": 3.0}
    stage.commit(1)

    assert stage.answers == ["a", "lives"]


async def test_heartbeat_is_answered_after_the_open_batch(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        assert isinstance(stage.submit(write("a")), Delayed)

        assert isinstance(stage.submit(lives), Delayed)
        await trio.sleep(0.01)

        assert stage.answers == ["a", "lives"]
        assert stage.submit(lives) == "lives"


async def test_heartbeat_waits_behind_a_stepwise_event(stage: Stage) -> None:
    stage.submit(slowly)
    assert isinstance(stage.submit(lives), Delayed)
    drain(stage)

    assert stage.answers == ["slow", "lives"]
    assert stage.shard.figures()["waiting"] == 0
