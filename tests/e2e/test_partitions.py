"""Partitions, their epochs and their ends, as librdkafka's clients ask for them."""

from contextlib import closing

import pytest
from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicCollection,
    TopicPartition,
)
from confluent_kafka.admin import AdminClient, NewPartitions, OffsetSpec

from tests.e2e.clients import end_offset, new_topic, produce, read, settings, values_of
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120)]

TIMEOUT_S = 30


def grow(
    broker: BrokerProcess, topic: str, count: int, *, validate_only: bool = False, **options: object
) -> None:
    """Raises KafkaException."""
    admin = AdminClient(settings(broker))
    new_partitions = [NewPartitions(topic, count, **options)]
    admin.create_partitions(new_partitions, validate_only=validate_only)[topic].result(TIMEOUT_S)


def partitions(broker: BrokerProcess, topic: str) -> list[tuple[int, int]]:
    """Numbers and leaders."""
    admin = AdminClient(settings(broker))
    described = admin.describe_topics(TopicCollection([topic]))[topic].result(TIMEOUT_S)
    return [(partition.id, partition.leader.id) for partition in described.partitions]


def test_added_partitions_can_be_written_and_read(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)

    grow(shared_broker, topic, 3)
    grow(shared_broker, topic, 4, replica_assignment=[[1]])

    assert partitions(shared_broker, topic) == [(number, 1) for number in range(4)]
    for number in range(4):
        written = [b"%d of %d" % (n, number) for n in range(100)]
        producer = Producer(settings(shared_broker, enable_idempotence=True))
        produce(producer, topic, written, number)
        assert values_of(read(shared_broker, topic, 100, number)) == written


def test_running_producer_finds_added_partitions(shared_broker: BrokerProcess) -> None:
    topic = new_topic(shared_broker)
    producer = Producer(settings(shared_broker, topic_metadata_refresh_interval_ms=200))
    produce(producer, topic, [b"before"])

    grow(shared_broker, topic, 2)
    # What it asks for refreshes what it knows.
    assert len(producer.list_topics(topic, TIMEOUT_S).topics[topic].partitions) == 2
    produce(producer, topic, [b"after"], 1)

    assert values_of(read(shared_broker, topic, 1, 1)) == [b"after"]


@pytest.mark.parametrize(
    ("count", "options", "error"),
    [
        (2, {}, KafkaError.INVALID_PARTITIONS),
        (1, {}, KafkaError.INVALID_PARTITIONS),
        (3, {"replica_assignment": [[7]]}, KafkaError.INVALID_REPLICA_ASSIGNMENT),
        (3, {"replica_assignment": [[1, 1]]}, KafkaError.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_adding_partitions_with_an_invalid_count_or_assignment_fails(
    shared_broker: BrokerProcess, count: int, options: dict[str, object], error: int
) -> None:
    topic = new_topic(shared_broker, 2)

    with pytest.raises(KafkaException) as caught:
        grow(shared_broker, topic, count, **options)

    assert caught.value.args[0].code() == error
    assert len(partitions(shared_broker, topic)) == 2


def test_adding_partitions_with_validate_only_changes_no_topic(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, 2)

    grow(shared_broker, topic, 5, validate_only=True)

    assert len(partitions(shared_broker, topic)) == 2


def test_consumer_with_a_leader_epoch_detects_log_truncation(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker)
    produce(Producer(settings(shared_broker)), topic, [b"%d" % n for n in range(5)])

    def read_from(offset: int) -> int:
        """The offset of the first record; -1 if those before `offset` were cut away."""
        options = settings(shared_broker, group_id="none", auto_offset_reset="error")
        with closing(Consumer(options)) as consumer:
            consumer.assign([TopicPartition(topic, 0, offset, leader_epoch=0)])
            message = consumer.poll(TIMEOUT_S)
            assert message is not None
            error = message.error()
            if error is None:
                return int(message.offset())
            assert error.code() == KafkaError._AUTO_OFFSET_RESET
            assert "log truncation detected" in error.str()
            return -1

    assert read_from(3) == 3
    assert read_from(9) == -1


def test_list_offsets_returns_earliest_latest_and_timestamp_offsets(
    shared_broker: BrokerProcess,
) -> None:
    topic = new_topic(shared_broker, retention_ms="-1")
    producer = Producer(settings(shared_broker))
    for time in (1_700_000_000_000, 1_700_000_009_000, 1_700_000_005_000):
        producer.produce(topic, b"v", partition=0, timestamp=time)
        assert producer.flush(TIMEOUT_S) == 0
    admin = AdminClient(settings(shared_broker))

    def offset(spec: OffsetSpec) -> tuple[int, int]:
        at = TopicPartition(topic, 0)
        result = admin.list_offsets({at: spec})[at].result(TIMEOUT_S)
        return result.offset, result.timestamp

    assert offset(OffsetSpec.earliest()) == (0, -1)
    assert offset(OffsetSpec.latest()) == (3, -1)
    assert offset(OffsetSpec.max_timestamp()) == (1, 1_700_000_009_000)
    assert offset(OffsetSpec.for_timestamp(1_700_000_000_001)) == (1, 1_700_000_009_000)
    assert end_offset(shared_broker, topic, 0) == 3
