"""Lists of epochs in their topic: the latest one of each query, and the fence before the next."""

from collections.abc import Callable

import attrs
import pytest

from tests.trio_kafka_spark.sink.transactional import client
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator, Transaction
from trio_kafka_spark.client.errors import FencedError
from trio_kafka_spark.client.settings import ClientSettings
from trio_kafka_spark.sink.epoch_log import EpochLog
from trio_kafka_spark.sink.epochs import Epoch


def log_of(settings: ClientSettings, query: str = "q") -> EpochLog:
    return EpochLog(settings, prefix="p", query=query)


def epoch(number: int) -> Epoch:
    transaction = Transaction(transactional_id=f"p-q-{number}", producer_id=number, epoch=3)
    return Epoch(number=number, transactions=(transaction,))


def append(log: EpochLog, coordinator: Coordinator, *epochs: Epoch) -> None:
    for each in epochs:
        log.append(coordinator, log.fence(coordinator), each)


def test_the_latest_list_of_each_query_is_read(kafka: Kafka) -> None:
    settings = client(kafka.bootstrap)
    with Cluster(settings) as cluster:
        coordinator = Coordinator(cluster)
        log, other = log_of(settings), log_of(settings, "other")
        assert log.last(coordinator) is None

        append(log, coordinator, epoch(0), epoch(1))
        append(other, coordinator, *[epoch(number) for number in range(40)])

        # The list of the first query is before the window that is read first.
        assert log.last(coordinator) == epoch(1)
        assert other.last(coordinator) == epoch(39)
        assert log_of(settings, "new").last(coordinator) is None


def test_the_topic_is_compacted(kafka: Kafka) -> None:
    settings = client(kafka.bootstrap)
    with Cluster(settings) as cluster:
        coordinator, log = Coordinator(cluster), log_of(settings)
        append(log_of(settings, "other"), coordinator, epoch(7))
        append(log, coordinator, *[epoch(number) for number in range(4)])

        kafka.compact(log.topic)

        assert len(kafka.records(log.topic)) == 2
        assert log.last(coordinator) == epoch(3)
        assert log_of(settings, "other").last(coordinator) == epoch(7)


def test_a_run_that_begins_prevents_the_list_of_another_one(kafka: Kafka) -> None:
    settings = client(kafka.bootstrap)
    with Cluster(settings) as cluster:
        coordinator, log = Coordinator(cluster), log_of(settings)
        append(log, coordinator, epoch(0))
        zombie = log.fence(coordinator)
        current = log.fence(coordinator)

        with pytest.raises(FencedError):
            log.append(coordinator, zombie, epoch(1))
        assert log.last(coordinator) == epoch(0)
        log.append(coordinator, current, epoch(2))

        assert log.last(coordinator) == epoch(2)


def test_a_list_whose_writer_died_before_its_end_is_not_read(kafka: Kafka) -> None:
    settings = client(kafka.bootstrap)
    quick = attrs.evolve(settings, api_timeout_ms=1)
    with Cluster(settings) as cluster, Cluster(quick) as dying:
        coordinator, log = Coordinator(cluster), log_of(settings)
        append(log, coordinator, epoch(0))
        fence = log.fence(coordinator)
        with (
            kafka.fault(api="EndTxn", disconnect="before"),
            pytest.raises(Exception, match="EndTxn of p-epochs-q: gave up"),
        ):
            log_of(quick).append(Coordinator(dying), fence, epoch(1))

        log.fence(coordinator)

        assert log.last(coordinator) == epoch(0)


def test_a_list_of_thousands_of_tasks_is_one_record(
    kafka: Kafka, size: Callable[[int, int], int]
) -> None:
    settings = client(kafka.bootstrap)
    run = "trio-kafka-spark-260c3b71-bcd6-4fe1-8785-034602ade3b4-127cf32c-cb4d-4b83-a15d-715bc4"
    many = tuple(
        Transaction(transactional_id=f"{run}-{task}-0", producer_id=10**12 + task, epoch=30_000)
        for task in range(size(10_000, 50_000))
    )
    with Cluster(settings) as cluster:
        coordinator, log = Coordinator(cluster), log_of(settings)
        append(log, coordinator, Epoch(number=0, transactions=many))

        last = log.last(coordinator)

    assert last is not None
    assert last.transactions == many
