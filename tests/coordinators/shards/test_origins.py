"""Batches that a shard writes in the name of a producer."""

import pytest
import trio
from trio.testing import MockClock

from tests.coordinators.shards.kit import (
    REFUSED,
    Stage,
    Words,
    drain,
    lingering,
    read,
    staged,
    write,
)
from trio_kafka.coordinators.shards.effects import (
    AT_ONCE,
    CoordinatorRecord,
    Effects,
    Origin,
    Ticket,
)
from trio_kafka.errors import KafkaError
from trio_kafka.records.control import Marker


def origin(producer_id: int = 7, marker: Marker | None = None) -> Origin:
    return Origin(producer_id=producer_id, producer_epoch=0, check=lambda *_: None, marker=marker)


def write_for(*words: str, producer_id: int = 7):
    """Words of the producer's transaction."""

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        records = [CoordinatorRecord(word) for word in words]
        return Effects(records, [(ticket, "written")], origin=origin(producer_id))

    return event


def end(*, commit: bool = True, producer_id: int = 7):
    """Marker of the producer."""

    def event(_machine: Words, ticket: Ticket, _now_ms: int) -> Effects:
        marker = Marker(committed=commit, coordinator_epoch=0)
        return Effects(origin=origin(producer_id, marker)).answer(ticket, "ended")

    return event


@pytest.mark.parametrize("commit", [True, False])
async def test_words_of_a_transaction_are_pending_until_its_marker(
    autojump_clock: MockClock, commit: bool
) -> None:
    stage = staged(-1)

    assert stage.submit(write_for("a", "b")) == "written"
    assert stage.submit(read) == []
    assert stage.submit(end(commit=commit)) == "ended"

    assert stage.submit(read) == (["a", "b"] if commit else [])
    assert stage.log.batches == [["a", "b"], ["marker"]]
    assert [producer.producer_id for producer in stage.log.origins] == [7, 7]


async def test_open_batch_is_written_before_that_of_a_producer(autojump_clock: MockClock) -> None:
    async with lingering() as stage:
        stage.submit(write("before"))
        stage.submit(write_for("a"))
        stage.submit(write("after"))

        assert stage.log.batches == [["before"], ["a"]]
        await trio.sleep(1)
        assert stage.log.batches == [["before"], ["a"], ["after"]]


async def test_answer_waits_for_the_commit_of_the_marker(autojump_clock: MockClock) -> None:
    stage = staged(-1)
    stage.submit(write_for("a"))
    stage.log.end = 1
    stage.log.knows = False

    stage.submit(end())
    drain(stage)
    assert stage.answers == []
    stage.commit(2)

    assert stage.answers == ["ended"]


async def test_refused_batch_of_a_producer_changes_nothing(autojump_clock: MockClock) -> None:
    stage = staged(-1)
    stage.log.error = REFUSED

    for event in (write_for("a"), end()):
        with pytest.raises(KafkaError):
            stage.submit(event)

    stage.log.error = None
    assert stage.submit(end()) == "ended"
    assert stage.submit(read) == []
    assert stage.failures == []


async def test_lost_open_batch_takes_the_batch_of_the_producer_with_it(
    autojump_clock: MockClock,
) -> None:
    stage = Stage(linger_ms=5)
    stage.activate()
    stage.submit(write("before"))
    stage.log.error = REFUSED

    with pytest.raises(KafkaError):
        stage.submit(write_for("a"))

    assert stage.log.origins == []
    assert len(stage.failures) == 1


async def test_many_words_of_a_transaction_are_replayed_in_steps(autojump_clock: MockClock) -> None:
    stage = staged(-1)
    words = [str(number) for number in range(3 * AT_ONCE)]

    stage.submit(write_for(*words))
    drain(stage)
    assert stage.answers == ["written"]
    stage.submit(end())
    assert len(stage.machine.words) == AT_ONCE  # one step
    drain(stage)

    assert stage.answers == ["written", "ended"]
    assert stage.submit(read) == words
    assert stage.log.batches[0] == words


def test_events_of_two_origins_are_not_joined() -> None:
    with pytest.raises(ValueError, match="producer"):
        Effects(origin=origin()).join(Effects())
