"""Lag: how far a group is behind, of what it has committed."""

from trio.testing import MockClock

from tests.apis.kit import broker, write
from tests.apis.test_k09_offset_fetch import commit
from tests.coordinators.groups.test_commits import driver, store, topic_offsets
from trio_kafka.coordinators.groups.lag import Lag, ends_of, lags
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest, DeleteTopicState
from trio_kafka.protocol.messages.k21_delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsTopic,
)
from trio_kafka.testing.broker import ServedBroker


def lags_of(served: ServedBroker, group_id: str) -> list[Lag]:
    """As far as the broker knows them."""
    machine = served.broker.groups.coordinator.shard_of(group_id).machine
    return list(lags(machine, group_id, ends_of(served.broker.replicas)))


def test_lag_is_the_number_of_unread_offsets_and_never_negative() -> None:
    groups = driver()
    for partition, offset in enumerate((3, 10, 12, 4)):
        store(groups, topic_offsets(offset, partition))
    ends = {0: 10, 1: 10, 2: 10, 3: None}

    result = list(lags(groups.machine, "g", lambda topic, partition: ends[partition]))

    assert [(record.offset, record.end, record.lag) for record in result] == [
        (3, 10, 7),
        (10, 10, 0),
        (12, 10, 0),
        (4, None, None),
    ]
    assert list(lags(groups.machine, "other", lambda topic, partition: 0)) == []


def test_negative_committed_offset_is_none_and_has_no_lag() -> None:
    groups = driver()
    for partition, offset in enumerate((-1, -2, 0)):
        store(groups, topic_offsets(offset, partition))

    group_lags = list(lags(groups.machine, "g", lambda topic, partition: 10))

    assert [(lag.partition, lag.lag) for lag in group_lags] == [(2, 10)]


async def test_lag_is_known_for_partitions_led_by_this_broker(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await write(served, "t", b"a", b"b", b"c")
        await commit(served, "g", "t", 0, 1)

        assert lags_of(served, "g") == [Lag(group_id="g", topic="t", partition=0, offset=1, end=3)]
        assert lags_of(served, "other") == []
        assert ends_of(served.broker.replicas)("none", 0) is None


async def test_lag_counts_deleted_records_as_the_tool_of_kafka_does(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await write(served, "t", b"a", b"b", b"c")
        await commit(served, "g", "t", 0, 1)
        topics = [DeleteRecordsTopic("t", [DeleteRecordsPartition(0, 2)])]
        await served.ask(DeleteRecordsRequest(topics=topics, timeout_ms=1000))

        assert served.broker.replicas.partition("t", 0).leading.start_offset == 2
        assert [lag.lag for lag in lags_of(served, "g")] == [2]


async def test_deleted_topic_has_no_lag(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await write(served, "t", b"a", b"b", b"c")
        await commit(served, "g", "t", 0, 1)
        await served.ask(DeleteTopicsRequest(topics=[DeleteTopicState(name="t")], timeout_ms=1000))

        assert [lag.lag for lag in lags_of(served, "g") if lag.lag is not None] == []


async def test_records_above_the_high_watermark_are_no_lag(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await served.serve_groups("g")
        await write(served, "t", b"a", b"b")
        await commit(served, "g", "t", 0, 1)
        # A replica that is in sync, and gets nothing any more.
        served.broker.replicas.partition("t", 0).isr = (NodeId(1), NodeId(7))
        await write(served, "t", b"c")

        (lag,) = lags_of(served, "g")
        assert (lag.end, lag.lag) == (2, 1)
