from functools import partial

import pytest
import trio

from tests.replication.kit import (
    LANE,
    batch,
    make_cold,
    new_partition,
    park,
    serve,
    try_complete,
    want,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.tree import Node
from trio_kafka.purgatory import Delayed, Purgatory, Timers
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.cold_reads import HANDOVER_S, ColdReads
from trio_kafka.replication.leader.fetch import Fetch, FetchLimits
from trio_kafka.replication.leader.sessions import Session
from trio_kafka.replication.roles import Offline
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.simulation import fault_on


class Parked:
    """A fetch of one cold partition that is parked, and what finds its bytes."""

    def __init__(self, world) -> None:
        LANE.clear()
        self.partition, _ = new_partition(world, 1)
        append(self.partition, batch(3), acks=1)
        self.size = self.partition.log.size
        make_cold(self.partition)
        self.file = self.partition.log.segments.first.file
        node = Node("broker", "broker")
        self.cold = ColdReads(node)
        session = Session(attach=lambda *_: None, detach=lambda *_: None)
        session.update({("t", 0): want()}, [])
        self.fetch = Fetch(session, FetchLimits(), lambda _: self.partition, full=True)
        assert whole(self.fetch.look()) is None
        purgatory = Purgatory("Fetch", Timers(node), node)
        self.delayed = Delayed(
            self.fetch.keys, 1000.0, partial(try_complete, self.fetch), purgatory=purgatory
        )
        self.done = park(self.delayed)


async def until(condition) -> None:
    with trio.fail_after(10):
        while not condition():
            await trio.sleep(0.001)


async def test_cold_bytes_are_read_and_complete_the_parked_fetch(
    world, nursery, autojump_clock
) -> None:
    parked = Parked(world)
    await nursery.start(parked.cold.run)

    parked.cold.submit(parked.fetch, parked.delayed)
    await until(lambda: LANE)
    serve()

    (answer,) = parked.done
    assert answer.size == parked.size
    assert parked.cold.read == 1
    answer.release()
    assert not parked.file._leases


async def test_cold_bytes_of_a_dropped_fetch_are_released(world, nursery, autojump_clock) -> None:
    parked = Parked(world)
    await nursery.start(parked.cold.run)
    parked.cold.submit(parked.fetch, parked.delayed)
    await until(lambda: parked.fetch.ready)

    parked.delayed.purgatory.drop(parked.delayed)
    await trio.sleep(HANDOVER_S + 0.1)

    assert not parked.fetch.ready
    assert not parked.file._leases


async def test_dropped_fetch_is_not_read(world, nursery, autojump_clock) -> None:
    parked = Parked(world)
    parked.cold.submit(parked.fetch, parked.delayed)
    parked.delayed.purgatory.drop(parked.delayed)

    await nursery.start(parked.cold.run)
    await trio.sleep(0.1)

    assert parked.cold.read == 0
    assert not parked.file._leases


async def test_disk_error_of_a_cold_read_is_the_error_of_the_partition(
    world, nursery, autojump_clock
) -> None:
    parked = Parked(world)
    await nursery.start(parked.cold.run)
    world.universe.fault = fault_on("read", OSError(5, "EIO"))

    parked.cold.submit(parked.fetch, parked.delayed)
    await until(lambda: LANE)
    serve()

    ((_, read),) = parked.done[0].parts
    assert read.error.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert isinstance(parked.partition.role, Offline)


async def test_fetches_above_the_limit_of_cold_reads_are_refused_and_counted(
    world, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("trio_kafka.replication.leader.cold_reads.PARKED", 1)
    parked = Parked(world)

    parked.cold.submit(parked.fetch, parked.delayed)
    parked.cold.submit(parked.fetch, parked.delayed)

    assert parked.cold.refused == 1
    parked.delayed.purgatory.drop(parked.delayed)
