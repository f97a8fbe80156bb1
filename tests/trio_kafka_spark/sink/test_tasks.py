"""Transactional ids of tasks, and what a task that fails leaves."""

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from tests.trio_kafka_spark.sink.transactional import PARTITIONS, TOPIC, Driver, client
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.tasks import abort_soon, current_run


@pytest.fixture
def driver(kafka: Kafka) -> Driver:
    kafka.create_topic(TOPIC, partitions=PARTITIONS)
    return Driver(client(kafka.bootstrap), Run("q", "r"))


def test_an_id_names_query_run_partition_and_attempt(driver: Driver) -> None:
    first, retry = driver.task(3, ["a"]), driver.task(3, ["b"], attempt=1)

    assert first.transactional_id == "trio-kafka-spark-q-r-3-0"
    assert retry.transactional_id == "trio-kafka-spark-q-r-3-1"
    assert len(driver.open_ids()) == 2


def test_a_task_of_a_repeated_stage_does_not_abort_its_twin(driver: Driver) -> None:
    first, twin = driver.task(3, ["a"]), driver.task(3, ["a"])

    assert twin.transactional_id == f"{first.transactional_id}-103"
    assert driver.open_ids() == [first.transactional_id, twin.transactional_id]


def test_the_transaction_of_a_failed_task_is_aborted(kafka: Kafka, driver: Driver) -> None:
    transaction = driver.task(0, ["a"])

    abort_soon(driver.settings, transaction)
    assert driver.open_ids() == []

    kafka.stop()
    abort_soon(client("127.0.0.1:1", default_api_timeout_ms=1), transaction)  # raises nothing


def test_outside_of_a_task_there_is_no_run() -> None:
    with pytest.raises(SourceError, match="expected to run in a task of Spark"):
        current_run()
