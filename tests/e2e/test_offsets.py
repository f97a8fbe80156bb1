"""Consumers that are assigned their partitions commit offsets, and go on where they were."""

import subprocess
import sys
from collections.abc import Callable
from uuid import uuid4

import pytest
from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, Producer, TopicPartition
from confluent_kafka.admin import AdminClient

from tests.e2e.clients import new_topic, produce, settings
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

WAIT_S = 30


def group_of(*, assigned: str) -> str:
    return f"{assigned}-{uuid4().hex[:8]}"


def written(broker: BrokerProcess, partitions: int = 2) -> str:
    topic = new_topic(broker, partitions)
    for partition in range(partitions):
        produce(Producer(settings(broker)), topic, [b"%d" % n for n in range(20)], partition)
    return topic


def read_some(consumer: Consumer, count: int) -> list[bytes]:
    result: list[bytes] = []
    while len(result) < count:
        message = consumer.poll(WAIT_S)
        assert message is not None
        assert message.error() is None, message.error()
        result.append(message.value())
    return result


def test_librdkafka_consumer_continues_at_its_committed_offset_after_a_restart(
    own_broker: BrokerProcess, restart: Callable[[BrokerProcess], BrokerProcess]
) -> None:
    broker = own_broker
    topic, group = written(broker), group_of(assigned="librdkafka")
    first = Consumer(
        settings(broker, group_id=group, enable_auto_commit=False, auto_offset_reset="earliest")
    )
    first.assign([TopicPartition(topic, 0)])
    assert read_some(first, 7) == [b"%d" % n for n in range(7)]
    first.commit(asynchronous=False)
    with_metadata = TopicPartition(topic, 1, 5, metadata="five")
    first.commit(offsets=[with_metadata], asynchronous=False)
    first.close()

    broker = restart(broker)
    second = Consumer(settings(broker, group_id=group, auto_offset_reset="earliest"))
    offsets = second.committed([TopicPartition(topic, n) for n in range(2)], timeout=WAIT_S)
    assert [(record.offset, record.metadata or "") for record in offsets] == [(7, ""), (5, "five")]
    second.assign([TopicPartition(topic, 0)])
    assert read_some(second, 2) == [b"7", b"8"]
    second.close()


def test_admin_client_alters_and_lists_committed_offsets(shared_broker: BrokerProcess) -> None:
    topic, group = written(shared_broker), group_of(assigned="admin")
    admin = AdminClient(settings(shared_broker))
    expected = [TopicPartition(topic, 0, 3), TopicPartition(topic, 1, 4)]

    consumer_group_topic_partitions = [ConsumerGroupTopicPartitions(group, expected)]
    altered = admin.alter_consumer_group_offsets(consumer_group_topic_partitions)[group].result(
        WAIT_S
    )
    assert all(partition.error is None for partition in altered.topic_partitions)

    listed = admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])
    topic_partitions = listed[group].result(WAIT_S).topic_partitions
    assert sorted((record.partition, record.offset) for record in topic_partitions) == [
        (0, 3),
        (1, 4),
    ]


PROGRAM = """
import sys
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

bootstrap, topic, group = sys.argv[1:]
place = TopicPartition(topic, 0)

def consumer():
    made = KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=group, enable_auto_commit=False,
        auto_offset_reset="earliest",
    )
    made.assign([place])
    return made

first = consumer()
assert [next(first).value for _ in range(7)] == [b"%d" % n for n in range(7)]
first.commit({place: OffsetAndMetadata(7, "seven", -1)})
first.close()
second = consumer()
found = second.committed(place, metadata=True)
assert (found.offset, found.metadata) == (7, "seven"), found
assert next(second).value == b"7"
second.close()
print("done")
"""


def test_kafka_python_consumer_continues_at_its_committed_offset(
    shared_broker: BrokerProcess,
) -> None:
    topic, group = written(shared_broker), group_of(assigned="python")

    done = subprocess.run(  # its modules warn when they are imported
        [sys.executable, "-c", PROGRAM, shared_broker.bootstrap, topic, group],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert (done.stdout, done.returncode) == ("done\n", 0), done.stderr
