from collections.abc import Callable
from random import Random

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.e2e.clients import end_offset, new_topic, produce, read, settings, values_of
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Size = Callable[[int, int], int]


def values(count: int) -> list[bytes]:
    """Every value is another, some are empty; most of each compresses."""
    random = Random(count)
    return [
        b"" if n % 1009 == 1008 else b"%d " % n + b"=" * random.randrange(200) for n in range(count)
    ]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_records_are_read_as_they_were_written_with_every_codec(
    shared_broker: BrokerProcess, codec: str, size: Size
) -> None:
    topic, written = new_topic(shared_broker), values(size(20_000, 1_000_000))

    producer = Producer(settings(shared_broker, compression_type=codec, acks="all", linger_ms=5))
    produce(producer, topic, written)

    messages = read(shared_broker, topic, len(written))
    assert values_of(messages) == written
    assert [message.offset() for message in messages] == list(range(len(written)))


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_records_are_read_as_they_were_written_with_every_acks(
    shared_broker: BrokerProcess, acks: str, size: Size
) -> None:
    topic, written = new_topic(shared_broker), values(size(20_000, 1_000_000))

    produce(Producer(settings(shared_broker, acks=acks, linger_ms=5)), topic, written)

    assert values_of(read(shared_broker, topic, len(written))) == written


def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    shared_broker: BrokerProcess, size: Size
) -> None:
    topic, written = new_topic(shared_broker, 3), values(size(10_000, 300_000))
    producer = Producer(settings(shared_broker, enable_idempotence=True, batch_num_messages=500))

    for partition in range(3):
        produce(producer, topic, written, partition)

    for partition in range(3):
        assert values_of(read(shared_broker, topic, len(written), partition)) == written
        assert end_offset(shared_broker, topic, partition) == len(written)


def test_consumer_reads_keys_headers_timestamps_and_tombstones_as_produced(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, retention_ms="-1")
    producer = Producer(settings(shared_broker))
    headers = [("trace", b"\x00\xff"), ("trace", b"again"), ("none", None)]

    producer.produce(topic, b"value", b"key", 0, timestamp=1_700_000_000_123, headers=headers)
    producer.produce(topic, None, b"key", 0, timestamp=1_700_000_000_124)
    assert producer.flush(30) == 0

    first, second = read(shared_broker, topic, 2)
    assert (first.key(), first.value(), first.headers()) == (b"key", b"value", headers)
    assert first.timestamp() == (1, 1_700_000_000_123)
    assert (second.key(), second.value(), second.headers()) == (b"key", None, None)


def test_offsets_are_found_by_time(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, retention_ms="-1")
    producer = Producer(settings(shared_broker))
    start = 1_700_000_000_000
    for n in range(100):
        producer.produce(topic, b"%d" % n, partition=0, timestamp=start + 1000 * n)
        if n % 7 == 6:
            assert producer.flush(30) == 0  # a batch ends here
    assert producer.flush(30) == 0

    def offset_at(timestamp: int) -> int:
        consumer = Consumer(settings(shared_broker, group_id="none"))
        try:
            asked = [TopicPartition(topic, 0, timestamp)]
            return int(consumer.offsets_for_times(asked, timeout=30)[0].offset)
        finally:
            consumer.close()

    assert offset_at(0) == 0
    assert offset_at(start + 41_000) == 41
    assert offset_at(start + 41_001) == 42
    assert offset_at(start + 99_001) == -1  # none: librdkafka's OFFSET_END


def test_fifty_concurrent_producers_lose_no_records_and_keep_their_order(
    shared_broker: BrokerProcess, size: Size
) -> None:
    topic, each = new_topic(shared_broker), size(200, 4000)
    producers = [Producer(settings(shared_broker, linger_ms=1)) for _ in range(50)]

    for n in range(each):
        for client, producer in enumerate(producers):
            producer.produce(topic, b"%d" % n, b"%d" % client, partition=0)
    assert [producer.flush(60) for producer in producers] == [0] * 50

    written: dict[bytes | None, list[bytes | None]] = {}
    for message in read(shared_broker, topic, 50 * each):
        written.setdefault(message.key(), []).append(message.value())
    assert len(written) == 50
    assert all(found == [b"%d" % n for n in range(each)] for found in written.values())


def test_fifty_concurrent_consumers_read_the_same_records(
    shared_broker: BrokerProcess, size: Size
) -> None:
    topic, written = new_topic(shared_broker), values(size(1000, 20_000))
    produce(Producer(settings(shared_broker)), topic, written)
    consumers = [Consumer(settings(shared_broker, group_id="none")) for _ in range(50)]

    try:
        for consumer in consumers:
            consumer.assign([TopicPartition(topic, 0, 0)])
        for consumer in consumers:
            got: list[bytes | None] = []
            while len(got) < len(written):
                more = consumer.consume(len(written) - len(got), timeout=30)
                assert more, f"{len(got)} messages, want {len(written)}"
                got += values_of(more)
            assert got == written
    finally:
        for consumer in consumers:
            consumer.close()


def test_consumer_waiting_at_the_log_end_gets_a_new_record_at_once(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    consumer = Consumer(settings(shared_broker, group_id="none", fetch_wait_max_ms=10_000))
    producer = Producer(settings(shared_broker))

    try:
        consumer.assign([TopicPartition(topic, 0, 0)])
        assert consumer.consume(1, timeout=0.5) == []
        produce(producer, topic, [b"late"])
        assert values_of(consumer.consume(1, timeout=5)) == [b"late"]  # not after fetch.wait.max
    finally:
        consumer.close()


def test_topics_are_listed_described_and_deleted(shared_broker: BrokerProcess) -> None:
    admin = AdminClient(settings(shared_broker))
    topic = new_topic(shared_broker, 4)

    assert set(admin.list_topics(topic, timeout=30).topics[topic].partitions) == {0, 1, 2, 3}
    with pytest.raises(KafkaException, match="TOPIC_ALREADY_EXISTS"):
        admin.create_topics([NewTopic(topic, 1, 1)])[topic].result(30)

    admin.delete_topics([topic])[topic].result(30)
    assert topic not in admin.list_topics(timeout=30).topics


def test_records_survive_a_restart_of_the_broker(
    own_broker: BrokerProcess, restart: Callable[..., BrokerProcess]
) -> None:
    topic, written = new_topic(own_broker), values(10_000)
    produce(Producer(settings(own_broker)), topic, written)

    broker = restart(own_broker)

    assert values_of(read(broker, topic, len(written))) == written
    produce(Producer(settings(broker)), topic, [b"after"])
    assert values_of(read(broker, topic, len(written) + 1))[-1] == b"after"
