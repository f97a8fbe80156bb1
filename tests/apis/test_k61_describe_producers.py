"""DescribeProducers: what a partition knows of those who write to it."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import NOW_MS, batch, broker, codes, lead_elsewhere, produce, stable
from tests.log.kit import produced
from trio_kafka.errors import ErrorCode, LogDirError
from trio_kafka.protocol.messages.k61_describe_producers import (
    DescribeProducersRequest,
    PartitionResponse,
    ProducerState,
    TopicRequest,
)
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world


async def describe(
    served: ServedBroker, *numbers: int, topic: str = "t", version: int = 0
) -> list[PartitionResponse]:
    request = DescribeProducersRequest([TopicRequest(topic, list(numbers or (0,)))])
    (row,) = (await served.ask(request, version)).topics
    assert row.name == topic
    return list(row.partitions)


async def send(
    served: ServedBroker, producer: int, sequence: int, *, epoch: int = 0, partition: int = 0
) -> int:
    """Two records; the error."""
    records = batch(
        b"a",
        b"b",
        timestamp=NOW_MS + sequence,
        producer_id=producer,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return (await produce(served, "t", records, partition=partition)).error_code


def producer_state(producer: int, epoch: int, sequence: int, timestamp: int) -> ProducerState:
    return ProducerState(producer, epoch, sequence, timestamp, -1, -1)


@pytest.mark.parametrize("version", stable(DescribeProducersRequest))
async def test_each_producer_has_epoch_last_sequence_and_last_timestamp_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        for producer, sequence, epoch in ((7, 0, 0), (7, 2, 0), (8, 0, 3), (9, 0, 1), (9, 0, 2)):
            assert await send(served, producer, sequence, epoch=epoch) == 0
        assert (await produce(served, "t", batch(b"a"))).error_code == 0  # of nobody

        first, second = await describe(served, 0, 1, version=version)

    assert (first.partition_index, first.error_code, first.error_message) == (0, 0, None)
    assert first.active_producers == [
        producer_state(7, 0, 3, NOW_MS + 2),
        producer_state(8, 3, 1, NOW_MS),
        producer_state(9, 2, 1, NOW_MS),
    ]
    assert (second.partition_index, second.error_code, second.active_producers) == (1, 0, [])


async def test_producers_are_described_equally_after_a_restart(autojump_clock: MockClock) -> None:
    world = simulated_world()
    async with served_broker(world) as served:
        await served.create_topic("t")
        assert await send(served, 7, 0) == 0
        before = await describe(served)

    async with served_broker(world) as served:
        assert await describe(served) == before


async def test_an_open_transaction_is_described_with_its_start_offset(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None
        begun = produced(5, 1, offset=31, timestamp=NOW_MS, transactional=True)
        partition.log.producers.note(begun)
        partition.log.producers.note_marker(produced(6, 2, offset=40, timestamp=NOW_MS), 3)

        (part,) = await describe(served)

    assert part.active_producers == [
        ProducerState(5, 1, 0, NOW_MS, -1, 31),
        ProducerState(6, 2, -1, NOW_MS, 3, -1),
    ]


async def test_a_replica_that_is_not_the_leader_answers_too(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        assert await send(served, 7, 0) == 0
        await lead_elsewhere(served)

        (part,) = await describe(served)

    assert (part.error_code, len(part.active_producers)) == (0, 1)


@pytest.mark.parametrize(
    ("topic", "number", "code"),
    [
        ("t", 5, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("t", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("unknown", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("not/a name", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ],
)
async def test_an_unknown_topic_or_partition_is_an_error_of_its_partition(
    autojump_clock: MockClock, topic: str, number: int, code: ErrorCode
) -> None:
    async with broker() as served:
        await served.create_topic("t")

        parts = await describe(served, number, topic=topic)

    assert [(part.partition_index, part.error_code) for part in parts] == [(number, code)]


async def test_an_offline_partition_is_answered_with_a_storage_error(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", 2)
        (first, _) = sorted(
            served.broker.replicas.partitions, key=lambda partition: partition.at.partition
        )
        first.fail(LogDirError("/data", "gone"))

        assert codes(await describe(served, 0, 1)) == [ErrorCode.KAFKA_STORAGE_ERROR, 0]


async def test_many_producers_are_all_listed_in_order(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        (partition,) = served.broker.replicas.partitions
        assert partition.log is not None
        count = 2001
        for number in range(count):
            partition.log.producers.note(produced(number, offset=number, timestamp=NOW_MS))

        (part,) = await describe(served)

    assert [producer.producer_id for producer in part.active_producers] == list(range(count))


async def test_a_partition_named_repeatedly_is_described_once(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t", 3)
        await served.create_topic("u")
        topics = [
            TopicRequest("t", [2, 0, 2]),
            TopicRequest("u", [0]),
            TopicRequest("t", [0, 1]),
            TopicRequest("u", []),
        ]
        answer = await served.ask(DescribeProducersRequest(topics * 50), 0)

    assert [
        (topic.name, [partition.partition_index for partition in topic.partitions])
        for topic in answer.topics
    ] == [("t", [2, 0, 1]), ("u", [0])]
