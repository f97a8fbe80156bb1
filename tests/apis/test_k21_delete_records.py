"""DeleteRecords: what is hidden, what is refused, and when it is answered."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import batch, broker, fetch, lead_elsewhere, produce, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from trio_kafka.replication.leader.delete_records import TimedOutDeletionError
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_apis.k21_delete_records import _refused

Rows = dict[tuple[str, int], tuple[int, int]]


async def delete(
    served: ServedBroker, *offsets: tuple[str, int, int], version: int = 2, timeout_ms: int = 1000
) -> Rows:
    """Low watermark and error by topic and partition."""
    topics = [
        DeleteRecordsTopic(topic, [DeleteRecordsPartition(number, offset)])
        for topic, number, offset in offsets
    ]
    answer = await served.ask(DeleteRecordsRequest(topics, timeout_ms), version)
    return {
        (topic.name, row.partition_index): (row.low_watermark, row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    }


@pytest.mark.parametrize("version", stable(DeleteRecordsRequest))
async def test_records_before_the_offset_are_hidden_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        for number in (0, 1):
            await produce(served, "t", batch(b"a", b"b", b"c"), partition=number)

        done = await delete(served, ("t", 0, 2), ("t", 1, -1), version=version)

        assert done == {("t", 0): (2, 0), ("t", 1): (3, 0)}
        hidden = await fetch(served, "t", 1)
        assert hidden.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
        assert (await fetch(served, "t", 2)).log_start_offset == 2


async def test_an_offset_below_the_log_start_changes_nothing(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await produce(served, "t", batch(b"a", b"b", b"c"))

        assert await delete(served, ("t", 0, 2)) == {("t", 0): (2, 0)}
        assert await delete(served, ("t", 0, 1)) == {("t", 0): (2, 0)}


async def test_each_partition_fails_independently(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await served.create_topic("compacted", configs={"cleanup.policy": "compact"})
        await served.create_topic("__consumer_offsets")
        await produce(served, "t", batch(b"a"))

        done = await delete(
            served,
            ("t", 0, 1),
            ("t", 1, 1),
            ("t", 2, 0),
            ("missing", 0, 0),
            ("compacted", 0, 0),
            ("__consumer_offsets", 0, 0),
        )

    assert done == {
        ("t", 0): (1, 0),
        ("t", 1): (-1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("t", 2): (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("missing", 0): (-1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("compacted", 0): (-1, ErrorCode.POLICY_VIOLATION),
        ("__consumer_offsets", 0): (-1, ErrorCode.INVALID_TOPIC_EXCEPTION),
    }


async def test_records_are_deleted_only_by_the_leader(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await lead_elsewhere(served)

        assert await delete(served, ("t", 0, 0)) == {
            ("t", 0): (-1, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        }


async def test_the_last_offset_applies_for_a_partition_named_twice(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await produce(served, "t", batch(b"a", b"b", b"c"))

        assert await delete(served, ("t", 0, 3), ("t", 0, 1)) == {("t", 0): (1, 0)}


async def test_deleted_records_stay_hidden_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        await produce(served, "t", batch(b"a", b"b", b"c"))
        await delete(served, ("t", 0, 2))

    async with served_broker(world) as served:
        assert (await fetch(served, "t", 2)).log_start_offset == 2


def test_a_deletion_that_times_out_has_the_lowest_start_of_its_replicas() -> None:
    row = _refused(("t", {0: 5}), (0, 5), TimedOutDeletionError(3))

    assert (row.error_code, row.low_watermark) == (ErrorCode.REQUEST_TIMED_OUT, 3)
