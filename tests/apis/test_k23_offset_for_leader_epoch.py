"""OffsetForLeaderEpoch: where epochs ended, and who may be asked."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.kit import broker, codes, lead_elsewhere, stable, write
from trio_kafka.errors import ErrorCode, LogDirError
from trio_kafka.metadata.image import PartitionState
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k23_offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from trio_kafka.replication.partition import Partition
from trio_kafka.testing.broker import ServedBroker

ME = NodeId(1)
UNKNOWN = (0, -1, -1)


async def ask(
    served: ServedBroker,
    *partitions: OffsetForLeaderPartition,
    topic: str = "t",
    version: int = 4,
    **others: Any,
) -> list[EpochEndOffset]:
    request = OffsetForLeaderEpochRequest(
        topics=[OffsetForLeaderTopic(topic, list(partitions))], **others
    )
    (row,) = (await served.ask(request, version)).topics
    assert row.topic == topic
    return list(row.partitions)


async def find(
    served: ServedBroker, epoch: int, *, current: int = -1, **others: Any
) -> tuple[int, int, int]:
    """Of partition 0: error, epoch, end offset."""
    (part,) = await ask(served, OffsetForLeaderPartition(0, current, epoch), **others)
    assert part.partition == 0
    return part.error_code, part.leader_epoch, part.end_offset


def lead(served: ServedBroker, epoch: int) -> Partition:
    """Let this broker lead partition 0 of "t" in a newer epoch, as after a restart."""
    (partition,) = served.broker.replicas.partitions
    partition.update(
        PartitionState(replicas=(ME,), isr=(ME,), leader=ME, leader_epoch=epoch, partition_epoch=9)
    )
    return partition


@pytest.mark.parametrize("version", stable(OffsetForLeaderEpochRequest))
async def test_a_leader_epoch_ends_where_the_next_begins_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a", b"b")
        lead(served, 3)
        await write(served, "t", b"c")
        result = {epoch: await find(served, epoch, version=version) for epoch in range(-2, 6)}

    assert result == {
        -2: (0, -2, 0),  # older than the oldest: itself, and where that one began
        -1: UNKNOWN,
        0: (0, 0, 2),
        1: (0, 0, 2),
        2: (0, 0, 2),
        3: (0, 3, 3),
        4: UNKNOWN,
        5: UNKNOWN,
    }


@pytest.mark.parametrize("version", stable(OffsetForLeaderEpochRequest))
async def test_the_first_epoch_of_an_empty_log_ends_at_offset_0(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert await find(served, 0, version=version) == (0, 0, 0)


@pytest.mark.parametrize("version", stable(OffsetForLeaderEpochRequest))
async def test_a_wrong_current_leader_epoch_is_refused_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        lead(served, 3)
        result = [
            await find(served, 0, current=current, version=version) for current in (-1, 2, 3, 4)
        ]

    assert result == [
        (0, 0, 1),
        (ErrorCode.FENCED_LEADER_EPOCH, -1, -1),
        (0, 0, 1),
        (ErrorCode.UNKNOWN_LEADER_EPOCH, -1, -1),
    ]


@pytest.mark.parametrize("replica", [-2, -1, 1, 7])
async def test_only_the_leader_answers_consumers_and_replicas(
    autojump_clock: MockClock, replica: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        assert await find(served, 0, replica_id=replica) == (0, 0, 0)
        await lead_elsewhere(served)

        elsewhere = await find(served, 0, replica_id=replica)
        fenced = await find(served, 0, current=0, replica_id=replica)

    assert elsewhere == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1, -1)
    assert fenced == (ErrorCode.FENCED_LEADER_EPOCH, -1, -1)


@pytest.mark.parametrize("version", stable(OffsetForLeaderEpochRequest))
async def test_each_partition_is_answered_independently_each_time_the_request_names_it(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await write(served, "t", b"a")
        partitions = [OffsetForLeaderPartition(number, -1, 0) for number in (1, 0, 5, 0)]
        parts = await ask(served, *partitions, version=version)
        unknown = await ask(served, partitions[0], topic="unknown", version=version)

    assert [(part.partition, part.error_code, part.end_offset) for part in parts] == [
        (1, 0, 0),
        (0, 0, 1),
        (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
        (0, 0, 1),
    ]
    assert codes(unknown) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_an_offline_partition_is_answered_with_a_storage_error(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        (partition,) = served.broker.replicas.partitions
        partition.fail(LogDirError("/data", "gone"))

        assert await find(served, 0) == (ErrorCode.KAFKA_STORAGE_ERROR, -1, -1)


async def test_a_request_without_topics_gets_an_empty_answer(autojump_clock: MockClock) -> None:
    async with broker() as served:
        assert (await served.ask(OffsetForLeaderEpochRequest())).topics == []
