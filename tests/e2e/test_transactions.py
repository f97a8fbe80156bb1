"""Transactions of real clients: committed records are read, aborted ones are not, zombies fenced.

librdkafka, kafka-python and aiokafka speak the old protocol, with AddPartitionsToTxn.
"""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.e2e.clients import new_topic, settings
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TRANSACTIONS, RECORDS = 6, 5
TIMEOUT_S = 30
COMMITTED = sorted(f"{n}-{i}".encode() for n in range(0, TRANSACTIONS, 2) for i in range(RECORDS))
WRITTEN = sorted(f"{n}-{i}".encode() for n in range(TRANSACTIONS) for i in range(RECORDS))


def records(number: int) -> Iterator[tuple[int, bytes]]:
    """Yield partition and value of each record of a transaction; every second one is aborted."""
    return ((i % 2, f"{number}-{i}".encode()) for i in range(RECORDS))


def values(
    broker: BrokerProcess,
    topic: str,
    isolation: str,
    partitions: int = 2,
    *,
    in_order: bool = False,
) -> list[bytes]:
    """Return all values of the partitions, sorted or in the order of the log."""
    consumer = Consumer(
        settings(
            broker,
            group_id=f"g-{uuid4().hex}",
            isolation_level=isolation,
            auto_offset_reset="earliest",
            enable_partition_eof=True,
            fetch_wait_max_ms=10,  # each partition ends with a fetch that waits
        )
    )
    consumer.assign([TopicPartition(topic, number, 0) for number in range(partitions)])
    read, ends = [], 0
    while ends < partitions:
        message = consumer.poll(TIMEOUT_S)
        assert message is not None
        if message.error():
            ends += 1
        else:
            read.append(message.value())
    consumer.close()
    return read if in_order else sorted(read)


def test_librdkafka_commits_and_aborts(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, 2)
    producer = Producer(settings(shared_broker, transactional_id=topic))
    producer.init_transactions(TIMEOUT_S)

    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        for partition, value in records(number):
            producer.produce(topic, value, partition=partition)
        assert producer.flush(TIMEOUT_S) == 0
        if number % 2:
            producer.abort_transaction(TIMEOUT_S)
        else:
            producer.commit_transaction(TIMEOUT_S)

    assert values(shared_broker, topic, "read_committed") == COMMITTED
    assert values(shared_broker, topic, "read_uncommitted") == WRITTEN


def test_librdkafka_fences_a_zombie(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, 2)
    zombie, producer = (Producer(settings(shared_broker, transactional_id=topic)) for _ in range(2))
    zombie.init_transactions(TIMEOUT_S)
    zombie.begin_transaction()
    zombie.produce(topic, b"zombie", partition=0)
    zombie.flush(TIMEOUT_S)

    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"new", partition=0)
    with pytest.raises(KafkaException):
        zombie.commit_transaction(TIMEOUT_S)
    producer.commit_transaction(TIMEOUT_S)

    assert values(shared_broker, topic, "read_committed") == [b"new"]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of kafka-python itself
def test_kafka_python_commits_and_aborts_and_a_zombie_is_fenced(
    shared_broker: BrokerProcess,
) -> None:
    import kafka

    topic = new_topic(shared_broker, 2)
    producer = kafka.KafkaProducer(
        bootstrap_servers=shared_broker.bootstrap, transactional_id=topic
    )
    producer.init_transactions()

    for number in range(TRANSACTIONS):
        producer.begin_transaction()
        for partition, value in records(number):
            producer.send(topic, value, partition=partition).get(TIMEOUT_S)
        if number % 2:
            producer.abort_transaction()
        else:
            producer.commit_transaction()
    newer = kafka.KafkaProducer(bootstrap_servers=shared_broker.bootstrap, transactional_id=topic)
    newer.init_transactions()
    with pytest.raises(kafka.errors.KafkaError):
        producer.begin_transaction()
        producer.send(topic, b"zombie", partition=0).get(TIMEOUT_S)
    for each in (producer, newer):
        each.close(timeout=1)

    assert values(shared_broker, topic, "read_committed") == COMMITTED
    assert values(shared_broker, topic, "read_uncommitted") == WRITTEN


async def write_with_aiokafka(bootstrap: str, topic: str) -> None:
    """Write all transactions."""
    import aiokafka

    producer = aiokafka.AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic)
    await producer.start()
    for number in range(TRANSACTIONS):
        await producer.begin_transaction()
        for partition, value in records(number):
            await producer.send_and_wait(topic, value, partition=partition)
        if number % 2:
            await producer.abort_transaction()
        else:
            await producer.commit_transaction()
    await producer.stop()


def test_aiokafka_commits_and_aborts(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, 2)

    asyncio.run(write_with_aiokafka(shared_broker.bootstrap, topic))

    assert values(shared_broker, topic, "read_committed") == COMMITTED
    assert values(shared_broker, topic, "read_uncommitted") == WRITTEN


def test_reader_waits_for_the_end_of_an_open_transaction(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker, 2)
    producer = Producer(settings(shared_broker, transactional_id=topic))
    producer.init_transactions(TIMEOUT_S)
    producer.begin_transaction()
    producer.produce(topic, b"open", partition=0)
    assert producer.flush(TIMEOUT_S) == 0

    assert values(shared_broker, topic, "read_committed") == []
    producer.commit_transaction(TIMEOUT_S)
    consumer = Consumer(
        settings(
            shared_broker,
            group_id=topic,
            isolation_level="read_committed",
            auto_offset_reset="earliest",
        )
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    message = consumer.poll(TIMEOUT_S)
    consumer.close()

    assert message is not None
    assert message.value() == b"open"
