"""The producer against a broker process, read back by librdkafka.

`--against apache-kafka` runs the same scenarios against Apache Kafka 4.4. What takes a fault of the
network, a clock or a queue is in `test_producer.py`, in one loop.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import asynccontextmanager, suppress

import confluent_kafka
import pytest
import trio

from tests.clients.producer.conftest import Lives
from tests.e2e.clients import end_offset, new_topic, read, settings, values_of
from trio_kafka.clients import Producer, ProducerRecord, Receipt, open_producer
from trio_kafka.clients.errors import ClientError, RecordTooLargeError, TopicError
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Size = Callable[[int, int], int]
Bytes = Producer[bytes, bytes | None]
TIMEOUT_S = 30
LOST_BYTES = 200  # answers to several batches
TIME_MS = 1_700_000_000_000
KEYS = [b"", *(b"k" * length + b"%d" % length for length in range(40))]


@asynccontextmanager
async def producer_of(broker: BrokerProcess, **config: object) -> AsyncIterator[Bytes]:
    """Open a producer; `_` in the name of a setting stands for `.`."""
    named = {name.replace("_", "."): value for name, value in config.items()}
    async with open_producer({"bootstrap.servers": broker.bootstrap, **named}) as producer:
        yield producer


async def offsets_of(producer: Bytes, topic: str, values: Sequence[bytes | None]) -> list[int]:
    """Send values to the first partition; return their offsets."""
    receipts = [await producer.send(ProducerRecord(topic, value, partition=0)) for value in values]
    return [(await receipt).offset for receipt in receipts]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
async def test_records_are_stored_as_they_were_sent_with_and_without_idempotence(
    shared_broker: BrokerProcess, codec: str
) -> None:
    records = [
        (b"" if number == 5 else b"%d" % (number % 7), b"value %d" % number * 20)
        for number in range(300)
    ]
    headers = [("trace", b"\x00\xff"), ("empty", None)]

    for is_idempotent in (True, False):
        topic = new_topic(shared_broker)
        async with producer_of(
            shared_broker, compression_type=codec, enable_idempotence=is_idempotent, linger_ms=20
        ) as producer:
            receipts = [
                await producer.send(
                    ProducerRecord(topic, value, key, timestamp_ms=TIME_MS + n, headers=headers)
                )
                for n, (key, value) in enumerate(records)
            ]
            places = [await receipt for receipt in receipts]
        messages = read(shared_broker, topic, len(records))

        assert [place.offset for place in places] == list(range(len(records)))
        assert [(each.key() or b"", each.value()) for each in messages] == records
        assert [each.timestamp()[1] - TIME_MS for each in messages] == list(range(len(records)))
        assert all(each.headers() == headers for each in messages)


async def test_values_that_are_none_are_tombstones(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker)

    async with producer_of(shared_broker) as producer:
        await (await producer.send(ProducerRecord(topic, None, b"key")))

    (message,) = read(shared_broker, topic, 1)
    assert (message.key(), message.value()) == (b"key", None)


@pytest.mark.parametrize(("acks", "offsets"), [("0", [-1, -1]), ("1", [0, 1]), ("all", [0, 1])])
async def test_records_are_stored_with_each_acks_and_their_offsets_are_known_unless_it_is_0(
    shared_broker: BrokerProcess, acks: str, offsets: list[int]
) -> None:
    topic = new_topic(shared_broker)

    async with producer_of(shared_broker, acks=acks) as producer:
        assert await offsets_of(producer, topic, [b"a", b"b"]) == offsets

        # Without an answer the end of the producer may cut the connection before they are stored.
        messages = await trio.to_thread.run_sync(read, shared_broker, topic, 2)
    assert values_of(messages) == [b"a", b"b"]


async def test_keys_go_to_the_partitions_that_librdkafka_chooses_as_java(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, 7)
    by_librdkafka: dict[bytes, int] = {}

    def delivered(error: object, message: confluent_kafka.Message) -> None:
        assert error is None
        by_librdkafka[message.key() or b""] = message.partition()

    other = confluent_kafka.Producer(settings(shared_broker, partitioner="murmur2_random"))
    for key in KEYS:
        other.produce(topic, b"", key, on_delivery=delivered)
    assert other.flush(TIMEOUT_S) == 0

    async with producer_of(shared_broker) as producer:
        receipts = {key: await producer.send(ProducerRecord(topic, b"", key)) for key in KEYS}
        by_us = {key: (await receipt).partition for key, receipt in receipts.items()}

    assert by_us == by_librdkafka
    assert len(set(by_us.values())) == 7


async def test_record_that_its_topic_does_not_allow_fails_alone(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, max_message_bytes="500")
    values = [b"%02d" % number * 50 for number in range(20)]

    async with producer_of(shared_broker, linger_ms=50) as producer:
        large = await producer.send(ProducerRecord(topic, bytes(600), partition=0))
        with pytest.raises(RecordTooLargeError, match=f"{topic}-0 at .*MESSAGE_TOO_LARGE") as error:
            await large
        assert not error.value.sent
        # One batch of all of them is too large as well, and is split until its parts fit.
        assert await offsets_of(producer, topic, values) == list(range(20))

    assert values_of(read(shared_broker, topic, 20)) == values


async def test_topic_is_created_by_its_first_record_if_the_broker_does_so(
    shared_broker: BrokerProcess,
) -> None:
    topic = f"{new_topic(shared_broker)}-second"

    async with producer_of(shared_broker) as producer:
        assert await offsets_of(producer, topic, [b"a"]) == [0]


async def test_topic_with_a_wrong_name_is_an_error_at_once(shared_broker: BrokerProcess) -> None:
    async with producer_of(shared_broker) as producer:
        with trio.fail_after(TIMEOUT_S), pytest.raises(TopicError, match="INVALID_TOPIC"):
            await producer.send(ProducerRecord("a b", b""))


async def test_unknown_topic_is_an_error_after_max_block_and_the_producer_goes_on(
    old_broker: BrokerProcess,
) -> None:
    topic = new_topic(old_broker)

    async with producer_of(old_broker, max_block_ms=500) as producer:
        with pytest.raises(TopicError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await producer.send(ProducerRecord(f"{topic}-second", b""))
        assert await offsets_of(producer, topic, [b"a"]) == [0]


async def test_records_are_stored_once_when_answers_are_lost_and_the_broker_is_killed(
    lives: Lives, size: Size
) -> None:
    """A small memory keeps the producer from queueing while there is no broker."""
    topic = await trio.to_thread.run_sync(new_topic, lives.broker, 2)
    receipts: dict[bytes, Receipt] = {}

    async def produce() -> None:
        while True:
            partition = len(receipts) % 2
            value = b"%09d" % len(receipts)
            record = ProducerRecord(topic, value, partition=partition)
            receipts[value] = await producer.send(record)

    async def wait_stored() -> None:
        """Wait some times for the record that was sent last: others are in flight then."""
        while not receipts:
            await trio.lowlevel.checkpoint()
        for _ in range(5):
            last = receipts[next(reversed(receipts))]
            with suppress(ClientError):  # `check_stored` looks at it
                await last

    async with (
        producer_of(lives.broker, buffer_memory=200_000, batch_size=2000, linger_ms=1) as producer,
        trio.open_nursery() as nursery,
    ):
        nursery.start_soon(produce)
        for _ in range(size(1, 20)):
            await wait_stored()
            await lives.relay.wait_lost(LOST_BYTES)
            lives.relay.cut()
            await wait_stored()
            await lives.relay.wait_lost(LOST_BYTES)
            await lives.next()
        await wait_stored()
        nursery.cancel_scope.cancel()

    await trio.to_thread.run_sync(check_stored, lives.broker, topic, receipts)


def check_stored(broker: BrokerProcess, topic: str, receipts: dict[bytes, Receipt]) -> None:
    """Compare the log with what the producer says; `receipts` are in the order of sending."""
    logs = [list(values(broker, topic, partition)) for partition in (0, 1)]
    counts = Counter(value for log in logs for value in log)
    acknowledged = {value for value, receipt in receipts.items() if is_stored(receipt)}

    assert set(counts.values()) == {1}
    assert acknowledged <= set(counts)
    assert all(receipts[value].may_be_stored for value in counts)
    assert all(log == sorted(log) for log in logs)
    assert len(acknowledged) > 100
    print(f"{len(acknowledged)} records acknowledged, {len(receipts) - len(acknowledged)} not")


def is_stored(receipt: Receipt) -> bool:
    try:
        receipt.result()
    except ClientError:
        return False
    return True


def values(broker: BrokerProcess, topic: str, partition: int) -> Iterator[bytes]:
    """Yield all values of a partition."""
    count = end_offset(broker, topic, partition)
    for message in read(broker, topic, count, partition):
        yield message.value() or b""
