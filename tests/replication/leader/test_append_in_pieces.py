"""Clients' large appends where another plane is let in between their pieces."""

from collections.abc import Callable

import pytest

from tests.log.kit import decompression
from tests.replication.kit import batch, make_slow, new_partition, state
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.log.append import Appended
from trio_kafka.log.read import read_bytes
from trio_kafka.model import TopicPartition
from trio_kafka.replication import append_queue
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.leader.append import append, append_own
from trio_kafka.replication.leader.queued_appends import QueuedAppends
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.protocols import PIECE


class Between:
    """A partition whose directory lets others in between the pieces of large appends."""

    def __init__(self, world) -> None:
        yield_point = YieldPoint()
        yield_point.bind(self._between)
        self.appends = QueuedAppends(
            world, Node("broker", "broker"), decompression(world), yield_point
        )
        self.partition, _ = new_partition(world)
        self.partition.join_queue = self.appends.join
        self.partition.log.latency.yield_point = yield_point
        self.calls: list[Callable[[], object]] = []
        self.results: list[object] = []

    def _between(self) -> None:
        if self.calls:
            self.results.append(self.calls.pop()())
        else:
            self.results.append(None)

    def append(self, size: int) -> Appended | Queued:
        return append(self.partition, batch(size=size), acks=1)


async def test_large_append_yields_between_its_pieces(world) -> None:
    here = Between(world)

    assert here.append(2 * PIECE).first_offset == 0
    assert here.results == [None, None]

    assert here.append(PIECE - 200).first_offset == 1
    assert here.results == [None, None]


async def test_append_of_the_broker_itself_does_not_yield(world) -> None:
    """The writer is in the middle of an event."""
    here = Between(world)

    append_own(here.partition, batch(size=2 * PIECE), acks=-1, leader_epoch=0)

    assert here.results == []


async def test_appends_to_the_same_log_during_a_yield_are_queued_in_order(
    world, nursery, autojump_clock
) -> None:
    here = Between(world)
    await nursery.start(here.appends.run)
    here.calls.append(lambda: here.append(10))
    here.calls.append(lambda: append_own(here.partition, batch(), acks=1, leader_epoch=0))

    assert here.append(2 * PIECE).first_offset == 0

    own, other = here.results
    assert own.result is other.result is None
    after = here.append(10)
    assert after.result is None  # behind those that wait
    await here.appends.wait_empty()
    assert [entry.result.first_offset for entry in (own, other, after)] == [1, 2, 3]
    assert here.append(10).first_offset == 4


async def test_append_to_another_log_during_a_yield_is_not_queued(world) -> None:
    here = Between(world)
    other, _ = new_partition(world, at=TopicPartition("other", 0))
    other.log.latency.yield_point = here.partition.log.latency.yield_point
    here.calls.append(lambda: append(other, batch(size=3 * PIECE), acks=1))

    assert here.append(2 * PIECE).first_offset == 0

    first_offsets = [getattr(entry, "first_offset", None) for entry in here.results]
    assert first_offsets == [None] * 3 + [0, None]


async def test_copy_of_a_queued_append_yields_between_its_pieces(
    world, nursery, autojump_clock
) -> None:
    here = Between(world)
    await nursery.start(here.appends.run)
    make_slow(here.partition)
    here.calls.append(lambda: here.append(10))

    sent = batch(size=2 * PIECE)
    queued = append(here.partition, sent, acks=1)
    sent[:] = bytes(len(sent))
    other, after = here.results
    assert other.result is after is None
    await here.appends.wait_empty()

    assert (other.result.first_offset, queued.result.first_offset) == (0, 1)
    read = await read_bytes(here.partition.log, 1, 3 * PIECE)
    assert read[16:] == bytes(batch(size=2 * PIECE))[16:]


async def test_copy_of_an_append_of_the_broker_itself_does_not_yield(
    world, nursery, autojump_clock
) -> None:
    here = Between(world)
    await nursery.start(here.appends.run)
    make_slow(here.partition)

    append_own(here.partition, batch(size=2 * PIECE), acks=1, leader_epoch=0)
    await here.appends.wait_empty()

    assert here.results == []


async def test_append_is_refused_if_the_leader_changes_between_its_pieces(
    world, nursery, autojump_clock
) -> None:
    here = Between(world)
    await nursery.start(here.appends.run)
    make_slow(here.partition)

    def changes() -> None:
        here.partition.update(state(1, leader=2, epoch=1))
        here.partition.update(state(1, leader=1, epoch=2))

    here.calls.append(changes)

    queued = here.append(2 * PIECE)
    await here.appends.wait_empty()

    assert queued.result.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
    assert here.partition.log.end_offset == 0


async def test_append_is_refused_if_the_queue_fills_up_between_its_pieces(
    world, nursery, autojump_clock, monkeypatch
) -> None:
    monkeypatch.setattr(append_queue, "MOST_BYTES", 5 * PIECE)
    here = Between(world)
    await nursery.start(here.appends.run)
    make_slow(here.partition)
    here.append(PIECE // 2)  # a queue that is empty would take one of any size
    here.calls.append(lambda: here.append(PIECE - 200))

    with pytest.raises(KafkaError, match="REQUEST_TIMED_OUT"):
        here.append(4 * PIECE)
    await here.appends.wait_empty()

    assert here.results[0].result.first_offset == 1
    assert here.partition.log.end_offset == 2
