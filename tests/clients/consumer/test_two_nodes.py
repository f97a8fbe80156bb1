"""Consumer between two nodes: nearer replicas (KIP-392), truncated logs (KIP-320)."""

import pytest
import trio
from trio.testing import MockClock

from tests.clients.consumer.kit import T0, read, values
from tests.clients.consumer.scripted import ScriptedCluster, batch
from trio_kafka.clients.errors import OffsetOutOfRangeError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, PartitionData

LOG = batch(0, b"a", b"b")
LONG_ENOUGH = 100.0


def preferring(node: int, row: FetchPartition) -> PartitionData:
    """The leader, node 1, has the records from 2 on, and sends consumers to node 2."""
    if node == 1:
        return PartitionData(0, high_watermark=2, preferred_read_replica=2)
    return PartitionData(0, high_watermark=2, records=LOG if row.fetch_offset < 2 else b"")


async def test_records_are_read_from_the_replica_that_the_leader_prefers(
    autojump_clock: MockClock,
) -> None:
    cluster = ScriptedCluster(preferring)
    async with cluster.consumer(client_rack="b") as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)

        assert values(await read(consumer, 2)) == [b"a", b"b"]

    assert {request.rack_id for _, request in cluster.fetches} == {"b"}
    assert [node for node, _ in cluster.fetches][:2] == [1, 2]


async def test_leader_is_asked_again_for_a_replica_after_the_age_of_the_metadata(
    autojump_clock: MockClock,
) -> None:
    cluster = ScriptedCluster(preferring)
    async with cluster.consumer(client_rack="b", metadata_max_age_ms=100) as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        await read(consumer, 2)
        before = [node for node, _ in cluster.fetches].count(1)
        await consumer.poll(0.08)
        assert [node for node, _ in cluster.fetches].count(1) == before == 1
        await consumer.poll(0.05)

    assert [node for node, _ in cluster.fetches].count(1) == 2


@pytest.mark.parametrize(
    "code", [ErrorCode.OFFSET_OUT_OF_RANGE, ErrorCode.NOT_LEADER_OR_FOLLOWER, None]
)
async def test_failed_replica_leaves_the_partition_to_the_leader(
    code: ErrorCode | None, autojump_clock: MockClock
) -> None:
    """None: the machine of the replica is cut off."""
    hints = [2]

    def answer(node: int, row: FetchPartition) -> PartitionData:
        if node == 1 and hints:
            return PartitionData(0, preferred_read_replica=hints.pop())
        if node == 2:
            return PartitionData(0, error_code=int(code or 0))
        return PartitionData(0, high_watermark=2, records=LOG if row.fetch_offset < 2 else b"")

    cluster = ScriptedCluster(answer)
    async with cluster.consumer(client_rack="b") as consumer:
        if code is None:
            cluster.universe.cut("here", "two")
        consumer.assign([T0])
        consumer.seek(T0, 0)

        with trio.fail_after(LONG_ENOUGH):
            assert values(await read(consumer, 2)) == [b"a", b"b"]


def truncated_after(offset: int, cluster: ScriptedCluster) -> None:
    """Let node 2 lead from epoch 2 on, with records of epoch 1 below an offset only."""
    cluster.leader, cluster.epoch = 2, 2
    cluster.ends = (1, offset)

    def answer(node: int, row: FetchPartition) -> PartitionData:
        if node == 1:
            return PartitionData(0, error_code=int(ErrorCode.NOT_LEADER_OR_FOLLOWER))
        assert row.current_leader_epoch == 2
        end = offset + 1
        records = batch(offset, b"new", epoch=2) if row.fetch_offset == offset else b""
        return PartitionData(0, high_watermark=end, records=records)

    cluster.fetched = answer


def first_leader(node: int, row: FetchPartition) -> PartitionData:
    del node
    records = batch(0, b"a", b"b", b"c", epoch=1) if row.fetch_offset == 0 else b""
    return PartitionData(0, high_watermark=3, records=records)


async def test_position_behind_a_truncated_log_goes_back_to_where_the_logs_part(
    autojump_clock: MockClock,
) -> None:
    cluster = ScriptedCluster(first_leader, epoch=1)
    async with cluster.consumer(auto_offset_reset="earliest") as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        await read(consumer, 3)
        truncated_after(1, cluster)
        (record,) = await read(consumer, 1)

    assert (record.offset, record.value, record.leader_epoch) == (1, b"new", 2)


async def test_truncated_log_is_an_error_with_the_offset_if_there_is_no_reset(
    autojump_clock: MockClock,
) -> None:
    cluster = ScriptedCluster(first_leader, epoch=1)
    async with cluster.consumer(auto_offset_reset="none") as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        await read(consumer, 3)
        truncated_after(1, cluster)
        with pytest.raises(OffsetOutOfRangeError):
            await read(consumer, 1)
        consumer.seek(T0, 1)
        (record,) = await read(consumer, 1)

    assert record.value == b"new"


async def test_position_that_the_new_leader_has_stays(autojump_clock: MockClock) -> None:
    cluster = ScriptedCluster(first_leader, epoch=1)
    async with cluster.consumer(auto_offset_reset="none") as consumer:
        consumer.assign([T0])
        consumer.seek(T0, 0)
        await read(consumer, 3)
        truncated_after(3, cluster)
        (record,) = await read(consumer, 1)

    assert record.offset == 3
