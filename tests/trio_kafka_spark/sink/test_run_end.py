"""A run that has ended: its late tasks write nothing, and nothing of it stays open."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.trio_kafka_spark.sink.transactional import (
    OPTIONS,
    PARTITIONS,
    TOPIC,
    Driver,
    client,
    settled_values,
)
from trio_kafka.model import TopicPartition
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.coordinator import Coordinator
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.sink.commits import abort_write, commit_write
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.tasks import Task, beginner

WAIT_S: Final = 60
pytestmark = pytest.mark.slow


@pytest.fixture
def driver(kafka: Kafka) -> Driver:
    kafka.create_topic(TOPIC, partitions=PARTITIONS)
    return Driver(client(kafka.bootstrap), Run("q", "r"))


def abort(driver: Driver) -> None:
    abort_write(driver.settings, driver.options, driver.run)


def commit(driver: Driver) -> None:
    commit_write(driver.settings, driver.options, driver.run, prepared=[])


@pytest.mark.parametrize("end", [abort, commit, lambda driver: driver.abort(0)])
def test_a_task_that_begins_after_the_end_of_its_run_writes_nothing(
    driver: Driver, end: Callable[[Driver], None]
) -> None:
    end(driver)

    with pytest.raises(SourceError, match="KAFKA_RUN_ENDED"):
        driver.task(0, ["late"])

    assert driver.open_ids() == []
    Driver(driver.settings, Run("q", "next")).epoch(1, ["a", "b"])
    assert settled_values(driver.settings) == ["a", "b"]


@pytest.mark.parametrize("has_written", [False, True])
@pytest.mark.parametrize("end", [abort, commit, lambda driver: driver.abort(0)])
def test_a_task_that_lives_on_after_the_end_of_its_run_is_fenced(
    driver: Driver, end: Callable[[Driver], None], *, has_written: bool
) -> None:
    where = [TopicPartition(TOPIC, number) for number in range(2)]
    begin = beginner(OPTIONS, driver.run, Task(partition=0, attempt=0, number=0))
    with Cluster(driver.settings) as cluster:
        coordinator = Coordinator(cluster)
        transaction = begin(coordinator)
        if has_written:
            coordinator.add(transaction, where[:1])

        end(driver)
        with pytest.raises(SourceError, match="AddPartitionsToTxn"):
            coordinator.add(transaction, where[1:])

    assert driver.open_ids() == []


def test_a_task_whose_begin_is_delayed_until_its_run_has_ended_writes_nothing(
    kafka: Kafka, driver: Driver
) -> None:
    with (
        ThreadPoolExecutor(1) as thread,
        kafka.fault(api="InitProducerId", hold=True, times=1) as held,
    ):
        task = thread.submit(driver.task, 0, ["late"])
        held.wait()
        abort(driver)
        held.release()
        with pytest.raises(SourceError, match="KAFKA_RUN_ENDED"):
            task.result(WAIT_S)

    assert driver.open_ids() == []


def test_a_task_that_writes_while_its_run_is_being_ended_is_aborted(
    kafka: Kafka, driver: Driver
) -> None:
    with (
        ThreadPoolExecutor(1) as thread,
        kafka.fault(api="InitProducerId", hold=True, times=1) as held,
    ):
        end = thread.submit(abort, driver)
        held.wait()
        driver.task(0, ["lost"])
        held.release()
        end.result(WAIT_S)

    assert driver.open_ids() == []
    assert settled_values(driver.settings) == []
