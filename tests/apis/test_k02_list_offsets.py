"""ListOffsets: the special times, a search by time, and who may know."""

from typing import Any

import pytest
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, broker, codes, lead_elsewhere, produce, stable, write
from trio_kafka.errors import ErrorCode
from trio_kafka.log.rolling import roll
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k02_list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.testing.broker import ServedBroker

LATEST, EARLIEST, LARGEST_TIME, EARLIEST_LOCAL, LATEST_TIERED, PENDING = -1, -2, -3, -4, -5, -6
# The version that brought each special time; older ones are refused.
SINCE = {
    LATEST: 1,
    EARLIEST: 1,
    LARGEST_TIME: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    PENDING: 11,
}
CONSUMER, DEBUG = -1, -2


async def ask(
    served: ServedBroker,
    *partitions: ListOffsetsPartition,
    topic: str = "t",
    version: int = 11,
    replica: int = CONSUMER,
    **others: Any,
) -> list[ListOffsetsPartitionResponse]:
    request = ListOffsetsRequest(
        replica, topics=[ListOffsetsTopic(topic, list(partitions))], **others
    )
    (row,) = (await served.ask(request, version)).topics
    assert row.name == topic
    return list(row.partitions)


async def find(
    served: ServedBroker, timestamp: int, version: int = 11, **others: Any
) -> tuple[int, int, int, int]:
    """Of partition 0: error, offset, timestamp, leader epoch."""
    partition = ListOffsetsPartition(0, timestamp=timestamp)
    (part,) = await ask(served, partition, version=version, **others)
    return part.error_code, part.offset, part.timestamp, part.leader_epoch


async def fill(served: ServedBroker) -> None:
    """Topic "t" with batches at 10 and 20, 30 and 30, and 25 (s after now)."""
    await served.create_topic("t")
    for times in ((10, 20), (30, 30), (25,)):
        records = [Record(timestamp=NOW_MS + 1000 * seconds) for seconds in times]
        sent = memoryview(bytearray(encode_batch(records)))
        assert (await produce(served, "t", sent)).error_code == 0


OFFSETS = [
    (LATEST, 5, -1),
    (EARLIEST, 0, -1),
    (LARGEST_TIME, 2, NOW_MS + 30_000),
    (EARLIEST_LOCAL, 0, -1),
    (LATEST_TIERED, -1, -1),
    (PENDING, -1, -1),
    (0, 0, NOW_MS + 10_000),
    (NOW_MS + 10_000, 0, NOW_MS + 10_000),
    (NOW_MS + 10_001, 1, NOW_MS + 20_000),
    (NOW_MS + 21_000, 2, NOW_MS + 30_000),
    (NOW_MS + 30_001, -1, -1),
]


@pytest.mark.parametrize("version", stable(ListOffsetsRequest))
async def test_each_timestamp_finds_its_offset_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await fill(served)
        for timestamp, offset, result in OFFSETS:
            answer = await find(served, timestamp, version)

            if version < SINCE.get(timestamp, 1):
                assert answer == (ErrorCode.UNSUPPORTED_VERSION, -1, -1, -1), timestamp
            else:
                epoch = 0 if offset >= 0 and version >= 4 else -1
                assert answer == (0, offset, result, epoch), timestamp


@pytest.mark.parametrize(
    ("timestamp", "answer"),
    [
        (LATEST, (0, 0, -1, 0)),
        (EARLIEST, (0, 0, -1, 0)),
        (EARLIEST_LOCAL, (0, 0, -1, 0)),
        (LARGEST_TIME, (0, -1, -1)),
        (NOW_MS, (0, -1, -1)),
    ],
)
async def test_an_empty_log_has_start_and_end_offsets_and_no_timestamps(
    autojump_clock: MockClock, timestamp: int, answer: tuple[int, ...]
) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert (await find(served, timestamp))[: len(answer)] == answer


@pytest.mark.parametrize("timestamp", [-7, -100])
async def test_an_unknown_special_timestamp_is_an_unsupported_version(
    autojump_clock: MockClock, timestamp: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")

        assert (await find(served, timestamp))[0] == ErrorCode.UNSUPPORTED_VERSION


@pytest.mark.parametrize("version", stable(ListOffsetsRequest))
async def test_each_partition_succeeds_or_fails_independently(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        await write(served, "t", b"a")
        partitions = [ListOffsetsPartition(number, timestamp=LATEST) for number in (1, 0, 5)]
        parts = await ask(served, *partitions, version=version)
        unknown = await ask(served, partitions[0], topic="unknown", version=version)

    assert [(part.partition_index, part.error_code, part.offset) for part in parts] == [
        (1, 0, 0),
        (0, 0, 1),
        (5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1),
    ]
    assert codes(unknown) == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


async def test_a_partition_named_twice_is_refused_and_other_partitions_are_answered(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        partitions = [ListOffsetsPartition(number, timestamp=LATEST) for number in (0, 1, 0)]
        parts = await ask(served, *partitions)

    twice = ErrorCode.INVALID_REQUEST
    assert [(part.partition_index, part.error_code, part.offset) for part in parts] == [
        (0, twice, -1),
        (1, 0, 0),
        (0, twice, -1),
    ]


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, NOW_MS])
async def test_a_newer_leader_epoch_than_the_brokers_is_unknown(
    autojump_clock: MockClock, timestamp: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        partitions = [
            ListOffsetsPartition(0, current_leader_epoch=epoch, timestamp=timestamp)
            for epoch in (-1, 0, 1)
        ]
        result = [codes(await ask(served, partition)) for partition in partitions]

    assert result == [[0], [0], [ErrorCode.UNKNOWN_LEADER_EPOCH]]


@pytest.mark.parametrize("timestamp", [LATEST, EARLIEST, NOW_MS])
async def test_only_the_leader_answers_consumers_and_any_replica_answers_a_debug_request(
    autojump_clock: MockClock, timestamp: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await lead_elsewhere(served)
        old = ListOffsetsPartition(0, current_leader_epoch=0, timestamp=timestamp)
        partition = ListOffsetsPartition(0, timestamp=timestamp)

        assert codes(await ask(served, old)) == [ErrorCode.FENCED_LEADER_EPOCH]
        assert codes(await ask(served, partition)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
        assert codes(await ask(served, partition, replica=DEBUG)) == [0]


@pytest.mark.parametrize("version", stable(ListOffsetsRequest))
async def test_the_latest_offset_is_unavailable_until_a_new_leader_knows_its_high_watermark(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a")
        (partition,) = served.broker.replicas.partitions
        partition.role.epoch_start = 2

        not_available = ErrorCode.OFFSET_NOT_AVAILABLE
        code, *_ = await find(served, LATEST, version)
        assert code == (not_available if version >= 5 else ErrorCode.LEADER_NOT_AVAILABLE)
        assert (await find(served, EARLIEST, version))[0] == 0
        assert (await find(served, LATEST, version, replica=1))[:2] == (0, 1)  # for a follower


@pytest.mark.parametrize("replica", [DEBUG, -3, 2])
async def test_consumers_get_the_high_watermark_and_replicas_the_log_end(
    autojump_clock: MockClock, replica: int
) -> None:
    async with broker() as served:
        await fill(served)
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None
        partition.isr = (NodeId(1), NodeId(2))
        partition.log.high_watermark = 1

        assert await find(served, LATEST) == (0, 1, -1, 0)
        assert await find(served, LATEST, replica=replica) == (0, 5, -1, 0)


async def test_an_invalid_negative_replica_id_does_not_read_from_a_follower(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await lead_elsewhere(served)
        partition = ListOffsetsPartition(0, timestamp=LATEST)

        assert codes(await ask(served, partition, replica=-3)) == [ErrorCode.NOT_LEADER_OR_FOLLOWER]


async def test_a_search_by_timestamp_ignores_uncommitted_records_for_consumers(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await fill(served)
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None
        partition.isr = (NodeId(1), NodeId(2))
        partition.log.high_watermark = 1

        assert await find(served, NOW_MS + 10_000) == (0, 0, NOW_MS + 10_000, 0)
        assert await find(served, NOW_MS + 20_000) == (0, -1, -1, -1)
        assert await find(served, LARGEST_TIME) == (0, -1, -1, -1)
        assert await find(served, LATEST) == (0, 1, -1, 0)
        follower = await find(served, NOW_MS + 20_000, replica=2)
        assert follower == (0, 1, NOW_MS + 20_000, 0)


async def test_read_committed_and_read_uncommitted_have_the_same_end_without_transactions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await write(served, "t", b"a")

        for isolation in (0, 1):
            assert await find(served, LATEST, isolation_level=isolation) == (0, 1, -1, 0)


async def test_a_search_by_timestamp_reads_segments_outside_the_page_cache(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await fill(served)
        (partition,) = served.broker.replicas.partitions
        log = partition.log
        assert log is not None
        roll(log)
        for segment in log.segments:
            segment.file.chill()  # type: ignore[attr-defined] # simulated: out of the page cache

        assert (await find(served, NOW_MS + 20_000))[1] == 1
