"""Waits of appends: for a sync of the directory, for a turn, for followers."""

from typing import cast

import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import batch, produce_request
from tests.introspect.waiting import chain, slow_disk, waiting
from tests.replication.kit import batch as replica_batch
from tests.replication.kit import new_partition
from trio_kafka.model import NodeId
from trio_kafka.records.batch import Record, encode_batch, read_header
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import ACKS_ALL
from trio_kafka.replication.leader.append import append
from trio_kafka.replication.leader.append_waits import append_waits
from trio_kafka.replication.record_validation import RecordValidation
from trio_kafka.world.world import World

FLUSHED = {"flush.messages": "1"}


async def test_produce_waits_for_a_sync_that_its_directory_has_under_way(
    autojump_clock: MockClock,
) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", configs=FLUSHED)
        await trio.sleep(1)
        slow_disk(waits, "/data/t-0")
        await waits.ask(produce_request(topic, (0, batch(b"a", b"b"))))
        await trio.sleep(2)

        own, directory = await waits.why("Produce")

    assert chain((own, directory)) == [
        ("sync", "partition", "t-0"),
        ("sync", "directory", "/data"),
    ]
    assert (own.has, own.needs, own.unit) == (0, 2, "offset")
    assert own.left_s == pytest.approx(27, 0.1)
    assert directory.age_s == pytest.approx(3, 0.1)
    assert directory.words == "a sync of /data has been under way for 3.0 s"


async def test_produce_to_several_partitions_says_how_many_wait(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t", 3, configs=FLUSHED)
        await trio.sleep(1)
        slow_disk(waits, "/data/t-")
        await waits.ask(produce_request(topic, *((number, batch(b"a")) for number in range(3))))

        own, *_ = await waits.why("Produce")

    assert own.on.name == "t-0"
    assert own.words.endswith(", and 2 more like it")


async def test_append_to_a_slow_directory_waits_for_its_turn(autojump_clock: MockClock) -> None:
    async with waiting() as waits:
        topic = await waits.served.create_topic("t")
        log = waits.served.broker.replicas.partition("t", 0).log
        assert log is not None
        log.latency.took_long(log.latency.elapsed() - 1, log.latency.elapsed())
        slow_disk(waits, "/data/t-0", call="append")
        await waits.ask(produce_request(topic, (0, batch(b"a"))), after_s=0.5)

        own, directory = await waits.why("Produce")

    assert chain((own, directory)) == [
        ("sync", "partition", "t-0"),
        ("sync", "directory", "/data"),
    ]
    assert own.words.startswith("its turn to append ")
    assert directory.words == "/data is slow: its longest append took 1.0 s"


async def test_produce_with_acks_all_waits_for_the_followers_that_are_behind(world: World) -> None:
    partition, _ = new_partition(world, 1, 2, 3)
    result = append(partition, replica_batch(2), acks=ACKS_ALL)
    partition.follower_fetched(NodeId(2), 2)

    own, follower = append_waits(partition, result, ACKS_ALL, 0.0)

    assert chain((own, follower)) == [("change", "partition", "t-0"), ("change", "broker", "3")]
    assert (own.has, own.needs, own.unit) == (1, 2, "followers")
    assert (follower.has, follower.needs, follower.unit) == (0, 2, "offset")
    partition.follower_fetched(NodeId(3), 2)
    assert append_waits(partition, result, ACKS_ALL, 0.0) == ()


async def test_queued_append_with_work_waits_for_that(world: World) -> None:
    partition, _ = new_partition(world, 1)
    item = Queued(
        batch=memoryview(bytes(5000)),
        header=read_header(encode_batch([Record()])),
        leader_epoch=0,
        needs_all=False,
        since=2.0,
        work=cast("RecordValidation", object()),
    )

    (wait,) = append_waits(partition, item, ACKS_ALL, 5.0)

    assert chain((wait,)) == [("steps", "partition", "t-0")]
    assert wait.words == "its 5,000 bytes for t-0 to be checked or compressed again"
    assert wait.age_s == 3.0


async def test_append_that_is_acknowledged_waits_for_nothing(world: World) -> None:
    partition, _ = new_partition(world, 1)
    result = append(partition, replica_batch(2), acks=ACKS_ALL)

    assert append_waits(partition, result, ACKS_ALL, 0.0) == ()
