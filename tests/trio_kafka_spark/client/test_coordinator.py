"""Requests of transactional producers against a broker: begin, add, end, repeat, list."""

from collections.abc import Iterator

import pytest

from tests.trio_kafka_spark.client.test_producer import rows, settings
from trio_kafka.model import TopicPartition
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import FencedError, SourceError
from trio_kafka_spark.client.producer import Producer

WHERE = TopicPartition("t", 0)
TIMEOUT_MS = 60_000


@pytest.fixture
def coordinator(kafka: Kafka) -> Iterator[Coordinator]:
    kafka.create_topic("t")
    with Cluster(settings(kafka.bootstrap, retry_backoff_ms=2)) as cluster:
        yield Coordinator(cluster)


def begin(coordinator: Coordinator, name: str = "p-1") -> Transaction:
    """Begin a transaction with one partition."""
    transaction = coordinator.init(name, TIMEOUT_MS)
    coordinator.add(transaction, [WHERE])
    return transaction


@pytest.mark.parametrize("commit", [True, False])
def test_an_end_can_be_repeated_but_not_reversed(coordinator: Coordinator, commit: bool) -> None:
    transaction = begin(coordinator)

    assert coordinator.end(transaction, commit=commit)
    assert coordinator.end(transaction, commit=commit)
    assert not coordinator.end(transaction, commit=not commit)


def test_a_new_epoch_aborts_what_was_open_and_fences_its_producer(coordinator: Coordinator) -> None:
    before = begin(coordinator)
    after = begin(coordinator)

    assert after.producer_id == before.producer_id
    assert after.epoch > before.epoch
    assert not coordinator.end(before, commit=True)
    with pytest.raises(FencedError, match=r"\[KAFKA_PRODUCER_FENCED\] AddPartitionsToTxn of p-1"):
        coordinator.add(before, [WHERE])
    assert coordinator.end(after, commit=True)


def test_an_end_of_an_unknown_id_is_no_success(coordinator: Coordinator) -> None:
    unknown = Transaction(transactional_id="unknown", producer_id=1, epoch=1)

    assert not coordinator.end(unknown, commit=True)
    assert not coordinator.is_open("unknown")


def test_open_transactions_are_listed_by_the_begin_of_their_ids(coordinator: Coordinator) -> None:
    first, second = begin(coordinator, "p-1"), begin(coordinator, "p-2")
    begin(coordinator, "q-1")
    coordinator.init("p-3", TIMEOUT_MS)  # without partitions it is not open
    assert coordinator.open_transactions("p-") == {"p-1": first, "p-2": second}
    assert coordinator.is_open("p-1")

    coordinator.end(first, commit=False)

    assert coordinator.open_transactions("p-") == {"p-2": second}
    assert not coordinator.is_open("p-1")


def test_an_end_whose_answer_is_lost_is_repeated(kafka: Kafka, coordinator: Coordinator) -> None:
    transaction = begin(coordinator)

    with kafka.fault(api="EndTxn", disconnect="after", times=2) as rule:
        assert coordinator.end(transaction, commit=True)

    assert rule.hits == 2


@pytest.mark.parametrize("code", ["NOT_COORDINATOR", "CONCURRENT_TRANSACTIONS"])
def test_the_coordinator_is_found_again_only_when_it_has_moved(
    kafka: Kafka, coordinator: Coordinator, code: str
) -> None:
    transaction = begin(coordinator)

    with (
        kafka.fault(api="FindCoordinator", observe=True) as finds,
        kafka.fault(api="EndTxn", error=code, times=1),
    ):
        assert coordinator.end(transaction, commit=True)

    assert finds.seen == (code == "NOT_COORDINATOR")


def test_an_answer_that_no_retry_changes_is_raised_with_the_id(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    with (
        kafka.fault(api="InitProducerId", error="TRANSACTIONAL_ID_AUTHORIZATION_FAILED"),
        pytest.raises(SourceError, match=r"\[KAFKA_AUTHORIZATION_FAILED\] InitProducerId of p-1"),
    ):
        coordinator.init("p-1", TIMEOUT_MS)
    with pytest.raises(SourceError, match="INVALID_TRANSACTION_TIMEOUT"):
        coordinator.init("p-1", 2**31 - 1)


def test_a_partition_that_does_not_exist_is_named_by_its_error(coordinator: Coordinator) -> None:
    transaction = coordinator.init("p-1", TIMEOUT_MS)
    address = str(coordinator.cluster.settings.bootstrap[0])

    with (
        Cluster(settings(address, default_api_timeout_ms=1)) as quick,
        pytest.raises(SourceError, match=r"AddPartitionsToTxn of p-1: .*UNKNOWN_TOPIC"),
    ):
        Coordinator(quick).add(transaction, [WHERE, TopicPartition("t", 7)])


def test_a_producer_adds_each_partition_once_and_writes_in_its_transaction(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    kafka.create_topic("u", partitions=2)
    options = settings(kafka.bootstrap, retry_backoff_ms=2, batch_size=100)
    with (
        kafka.fault(api="AddPartitionsToTxn", observe=True) as adds,
        Producer(options, begin=lambda own: own.init("p-1", TIMEOUT_MS)) as producer,
    ):
        for first in range(0, 60, 20):
            producer.send(TopicPartition("u", 0), rows(first, first + 20))
            producer.flush()
        producer.send(TopicPartition("u", 1), rows(60, 80))
        producer.flush()
        transaction = producer.transaction

    assert adds.seen == 2
    assert transaction is not None
    assert coordinator.open_transactions("") == {"p-1": transaction}
    assert coordinator.end(transaction, commit=True)


def test_a_producer_without_records_begins_no_transaction(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    begin = lambda own: own.init("p-1", TIMEOUT_MS)  # noqa: E731
    with Producer(coordinator.cluster.settings, begin=begin) as producer:
        producer.flush()

        assert producer.transaction is None


def test_a_producer_whose_transaction_has_ended_fails(
    kafka: Kafka, coordinator: Coordinator
) -> None:
    options = coordinator.cluster.settings
    with Producer(options, begin=lambda own: own.init("p-1", TIMEOUT_MS)) as producer:
        producer.send(WHERE, rows(0, 5))
        producer.flush()
        coordinator.init("p-1", TIMEOUT_MS)
        producer.send(WHERE, rows(5, 9))
        with pytest.raises(FencedError, match="KAFKA_PRODUCER_FENCED"):
            producer.flush()
