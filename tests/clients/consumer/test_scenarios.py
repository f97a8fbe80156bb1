"""The consumer against a broker process: positions, resets, transactions.

`--against apache-kafka` runs the same scenarios against Apache Kafka 4.4.
"""

from random import Random
from uuid import uuid4

import pytest
import trio

from tests.clients.consumer.scenarios import TIMEOUT_S, consumer_of, numbers, produce, read, values
from tests.clients.producer.test_scenarios import TIME_MS, producer_of
from tests.e2e.clients import new_topic
from trio_kafka.clients import ProducerRecord
from trio_kafka.clients.errors import NoOffsetError, OffsetOutOfRangeError
from trio_kafka.model import TopicPartition
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]


async def test_assigned_partitions_are_read_in_order_in_each_way(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, 2)
    places = [TopicPartition(topic, number) for number in (0, 1)]
    for at in places:
        await produce(shared_broker, topic, numbers(100, at.partition * 100), at.partition)

    async with consumer_of(shared_broker, max_poll_records=7) as consumer:
        consumer.assign(places)
        polled = await read(consumer, 200)
        consumer.seek_to_beginning()
        iterated = []
        async for record in consumer:
            iterated.append(record)
            if len(iterated) == 200:
                break
        consumer.seek_to_beginning()
        batched = []
        async for batch in consumer.batches():
            batched += list(batch.records())
            if len(batched) == 200:
                break

    for records in (polled, iterated, batched):
        for at in places:
            got = [record for record in records if record.partition == at.partition]
            assert [record.offset for record in got] == list(range(100))
            assert values(got) == numbers(100, at.partition * 100)


async def test_seek_during_a_fetch_continues_at_the_offset(shared_broker: BrokerProcess) -> None:
    """Between two seeks a response with older offsets is in flight, or in the buffer."""
    topic, random = new_topic(shared_broker), Random(58)
    at = TopicPartition(topic, 0)
    await produce(shared_broker, topic, numbers(200))

    async with consumer_of(shared_broker, max_poll_records=3, fetch_max_bytes=1000) as consumer:
        consumer.assign([at])
        await read(consumer, 1)
        for _ in range(100):
            offset = random.randrange(200)
            consumer.seek(at, offset)
            for _ in range(random.randrange(3)):
                await trio.lowlevel.checkpoint()  # the request is sent, or answered
            records = await read(consumer, 1)
            assert records[0].offset == offset
            assert await consumer.position(at) == records[-1].offset + 1
        consumer.seek(at, 200)
        assert await consumer.poll(0.0) == []  # a Fetch waits at the end of the log
        consumer.seek(at, 42)
        assert (await read(consumer, 1))[0].offset == 42


async def test_seek_by_time_during_a_fetch_continues_at_the_first_record_of_that_time(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)
    async with producer_of(shared_broker) as producer:
        for number in range(50):
            await producer.send(
                ProducerRecord(topic, b"x", partition=0, timestamp_ms=TIME_MS + number * 10)
            )

    async with consumer_of(shared_broker, max_poll_records=3, fetch_max_wait_ms=100) as consumer:
        consumer.assign([at])
        await read(consumer, 1)
        for number in (40, 3, 17):
            consumer.seek_to_time(TIME_MS + number * 10 - 5)
            assert (await read(consumer, 1))[0].offset == number
        consumer.seek_to_time(TIME_MS + 10_000)  # behind all records: the end
        assert await consumer.position(at) == 50
        result = await consumer.offsets_for_times({at: TIME_MS + 15})
        assert result[at] is not None
        assert (result[at].offset, result[at].timestamp_ms) == (2, TIME_MS + 20)
        assert await consumer.offsets_for_times({at: TIME_MS + 10_000}) == {at: None}
        assert await consumer.beginning_offsets([at]) == {at: 0}
        assert await consumer.end_offsets([at]) == {at: 50}


@pytest.mark.parametrize(
    ("reset", "first"), [("earliest", 0), ("latest", 3), ("by_duration:PT1H", 2)]
)
async def test_without_a_committed_offset_the_first_position_is_that_of_auto_offset_reset(
    shared_broker: BrokerProcess, reset: str, first: int
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)
    async with producer_of(shared_broker) as producer:
        for timestamp_ms in (TIME_MS, TIME_MS + 1, None):
            record = ProducerRecord(topic, b"x", partition=0, timestamp_ms=timestamp_ms)
            await (await producer.send(record))

    async with consumer_of(
        shared_broker, group_id=f"g-{uuid4().hex}", auto_offset_reset=reset
    ) as consumer:
        consumer.assign([at])
        assert await consumer.position(at) == first
        consumer.seek(at, 1000)  # it is out of range
        records = await consumer.poll(0.1)
        with trio.fail_after(TIMEOUT_S):
            while await consumer.position(at) == 1000:
                records += await consumer.poll(0.1)
        assert await consumer.position(at) == first + len(records)


async def test_without_a_reset_missing_and_deleted_offsets_are_errors_and_the_user_may_seek(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)
    await produce(shared_broker, topic, numbers(3))

    async with consumer_of(
        shared_broker, group_id=f"g-{uuid4().hex}", auto_offset_reset="none"
    ) as consumer:
        consumer.assign([at])
        with pytest.raises(NoOffsetError):
            await consumer.poll(10.0)
        consumer.seek(at, 7)
        with pytest.raises(OffsetOutOfRangeError, match="offset 7 is not in the log"):
            await consumer.poll(10.0)
        consumer.seek(at, 1)
        assert values(await read(consumer, 2)) == [b"1", b"2"]


async def test_committed_records_are_read_and_those_of_aborted_and_open_transactions_are_not(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    at = TopicPartition(topic, 0)

    async def send(producer, *values):  # type: ignore[no-untyped-def]
        for value in values:
            await (await producer.send(ProducerRecord(topic, value, partition=0)))

    async with (
        producer_of(shared_broker, transactional_id=f"id-{topic}") as producer,
        consumer_of(shared_broker, isolation_level="read_committed") as committed,
        consumer_of(shared_broker) as uncommitted,
    ):
        for number in range(3):
            async with producer.transaction():
                await send(producer, b"in %d" % number, b"in too %d" % number)
            with pytest.raises(LookupError):
                async with producer.transaction():
                    await send(producer, b"out %d" % number)
                    raise LookupError
        for consumer in (committed, uncommitted):
            consumer.assign([at])
        expected = [
            b"in %d" % (n // 2) if n % 2 == 0 else b"in too %d" % (n // 2) for n in range(6)
        ]
        assert values(await read(committed, 6)) == expected
        assert len(await read(uncommitted, 9)) == 9
        async with producer.transaction():
            await send(producer, b"open")
            assert values(await read(uncommitted, 1)) == [b"open"]
            assert await committed.poll(0.5) == []
            end = await committed.end_offsets([at])
            assert await uncommitted.end_offsets([at]) == {at: end[at] + 1}
        assert values(await read(committed, 1)) == [b"open"]
