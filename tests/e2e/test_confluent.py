"""librdkafka: many clients at once, a consumer that waits, and a restart.

`tests/clients/test_matrix.py` has what one client of librdkafka does, among all clients.
"""

from collections.abc import Callable
from random import Random

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.e2e.clients import new_topic, produce, read, settings, values_of
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

Size = Callable[[int, int], int]


def values(count: int) -> list[bytes]:
    """Every value is another, some are empty; most of each compresses."""
    random = Random(count)
    return [
        b"" if n % 1009 == 1008 else b"%d " % n + b"=" * random.randrange(200) for n in range(count)
    ]


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
    assert all(sequence == [b"%d" % n for n in range(each)] for sequence in written.values())


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
    consumer = Consumer(settings(shared_broker, group_id="none", fetch_wait_max_ms=50_000))
    producer, at = Producer(settings(shared_broker)), TopicPartition(topic, 0, 0)

    try:
        consumer.assign([at])
        assert consumer.consume(1, timeout=0.5) == []
        produce(producer, topic, [b"late"])
        assert values_of(consumer.consume(1, timeout=30)) == [b"late"]  # not after fetch.wait.max
    finally:
        consumer.pause([at])
        produce(producer, topic, [b"last"])  # ends the Fetch for which the client waits to close
        consumer.close()


def test_records_survive_a_restart_of_the_broker(
    own_broker: BrokerProcess, restart: Callable[..., BrokerProcess]
) -> None:
    topic, written = new_topic(own_broker), values(10_000)
    produce(Producer(settings(own_broker)), topic, written)

    broker = restart(own_broker)

    assert values_of(read(broker, topic, len(written))) == written
    produce(Producer(settings(broker)), topic, [b"after"])
    assert values_of(read(broker, topic, len(written) + 1))[-1] == b"after"
