"""Commits and aborts against a broker: a driver that ends at any request, and its successor."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.lanes import offset_below
from tests.trio_kafka_spark.sink.transactional import (
    OPTIONS,
    PARTITIONS,
    TOPIC,
    Driver,
    client,
    committed_values,
    settled_values,
)
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.sink.commits import abort_write, commit_write
from trio_kafka_spark.sink.epochs import Run

WAIT_S: Final = 60
AT_ONCE: Final = {"default_api_timeout_ms": 1}  # gives up after one attempt
pytestmark = pytest.mark.slow


def values(number: int) -> list[str]:
    return [f"{number}-{row}" for row in range(4)]


@pytest.fixture
def driver(kafka: Kafka) -> Driver:
    kafka.create_topic(TOPIC, partitions=PARTITIONS)
    return Driver(client(kafka.bootstrap), Run("q", "r1"))


def restarted(driver: Driver, name: str = "r2", **options: int) -> Driver:
    """Return the next run of the same query."""
    bootstrap = str(driver.settings.bootstrap[0])
    return Driver(client(bootstrap, **options), Run(driver.run.query, name))


def test_records_are_visible_once_their_epoch_is_committed(driver: Driver) -> None:
    prepared = driver.tasks(values(0))
    assert committed_values(driver.settings) == []

    driver.commit(0, prepared)
    driver.epoch(1, values(1))

    assert settled_values(driver.settings) == values(0) + values(1)
    assert driver.open_ids() == []


def test_ids_are_used_again_in_the_next_epoch(driver: Driver) -> None:
    first, second = driver.tasks(values(0)), None
    driver.commit(0, first)
    second = driver.tasks(values(1))
    driver.commit(1, second)

    assert [each.transactional_id for each in first] == [each.transactional_id for each in second]
    assert all(a.epoch < b.epoch for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("end", ["killed", "aborted by Spark"])
@pytest.mark.parametrize("disconnect", ["before", "after"])
def test_an_epoch_is_visible_once_after_a_driver_ends_at_any_request(
    kafka: Kafka, driver: Driver, size: Callable[[int, int], int], end: str, disconnect: str
) -> None:
    """Each request of a commit is the last one that is served, or the first one that is not."""
    expected: list[str] = []
    step = size(3, 1)
    for number, served in enumerate(range(offset_below(step), 60, step)):
        dying = restarted(driver, f"a{number}", **AT_ONCE)
        prepared = Driver(driver.settings, dying.run).tasks(values(number))
        Driver(driver.settings, dying.run).task(0, ["lost"], attempt=1)
        with kafka.fault(disconnect=disconnect, after=served) as rule:
            try:
                dying.commit(number, prepared)
            except SourceError:
                failed = True
            else:
                failed = rule.hits > 0
        if failed and end == "aborted by Spark":
            Driver(driver.settings, dying.run).abort(number)
        again = restarted(driver, f"b{number}")
        again.epoch(number, values(number))
        expected += values(number)

        assert settled_values(driver.settings) == sorted(expected), (number, served)
        if not failed:
            break
    else:
        pytest.fail("a commit took more than 60 requests")
    assert number > 5
    again.epoch(number + 1, values(number + 1))
    assert again.open_ids() == []


def test_an_abort_after_the_decision_leaves_the_epoch_to_the_next_run(
    kafka: Kafka, driver: Driver
) -> None:
    prepared = driver.tasks(values(0))
    driver.task(0, ["lost"], attempt=1)
    with kafka.fault(api="EndTxn", disconnect="before", after=1), pytest.raises(SourceError):
        restarted(driver, driver.run.run, **AT_ONCE).commit(0, prepared)

    driver.abort(0)
    assert driver.open_ids() == [each.transactional_id for each in prepared]
    restarted(driver).epoch(0, values(0))

    assert settled_values(driver.settings) == values(0)


def test_a_replay_after_the_commit_of_an_epoch_adds_nothing(driver: Driver) -> None:
    driver.epoch(0, values(0))

    again = restarted(driver)
    again.epoch(0, values(0))
    again.epoch(1, values(1))

    assert settled_values(driver.settings) == values(0) + values(1)
    assert again.open_ids() == []


def test_a_task_that_was_killed_or_lost_a_race_is_aborted_with_the_commit(driver: Driver) -> None:
    driver.task(0, ["killed"], attempt=0)
    driver.task(1, ["slower"], attempt=1)
    prepared = [driver.task(0, values(0), attempt=1), driver.task(1, values(1))]
    assert len(driver.open_ids()) == 4

    driver.commit(0, prepared)

    assert settled_values(driver.settings) == values(0) + values(1)
    assert driver.open_ids() == []


def test_of_two_runs_with_one_checkpoint_the_first_to_decide_wins(driver: Driver) -> None:
    zombie, other = driver, restarted(driver)
    of_zombie, of_other = zombie.tasks(values(0)), other.tasks(values(0))

    other.commit(0, of_other)
    zombie.commit(0, of_zombie)
    other.epoch(1, values(1))
    with pytest.raises(SourceError, match="KAFKA_EPOCH_SUPERSEDED"):
        zombie.commit(0, of_zombie)

    assert settled_values(driver.settings) == values(0) + values(1)


@pytest.mark.parametrize("api", ["AddPartitionsToTxn", "EndTxn"])
def test_a_run_that_is_overtaken_while_it_writes_its_list_commits_the_list_of_the_other(
    kafka: Kafka, driver: Driver, api: str
) -> None:
    zombie, other = driver, restarted(driver)
    of_zombie, of_other = zombie.tasks(values(0)), other.tasks(values(0))
    with (
        ThreadPoolExecutor(1) as thread,
        kafka.fault(api=api, hold=True, times=1) as held,
    ):
        late = thread.submit(zombie.commit, 0, of_zombie)
        held.wait()
        other.commit(0, of_other)
        held.release()
        late.result(WAIT_S)

    assert settled_values(driver.settings) == values(0)
    assert driver.open_ids() == []


def test_a_timeout_before_the_decision_loses_nothing_and_names_the_epoch(
    kafka: Kafka, driver: Driver
) -> None:
    prepared = driver.tasks(values(0))
    kafka.advance(seconds=OPTIONS.timeout_ms / 1000 + 30)

    with pytest.raises(SourceError) as caught:
        driver.commit(0, prepared)
    driver.abort(0)
    assert settled_values(driver.settings) == []
    restarted(driver).epoch(0, values(0))

    assert "[KAFKA_TRANSACTION_LOST] epoch 0: 2 transactions" in str(caught.value)
    assert prepared[0].transactional_id in str(caught.value)
    assert settled_values(driver.settings) == values(0)


def test_a_timeout_after_the_decision_fails_loudly_until_the_epoch_is_written_otherwise(
    kafka: Kafka, driver: Driver
) -> None:
    prepared = driver.tasks(values(0))
    with (
        kafka.fault(api="EndTxn", disconnect="before", after=2),
        pytest.raises(SourceError),
    ):
        # The list and the first transaction end, the second does not.
        restarted(driver, driver.run.run, **AT_ONCE).commit(0, prepared)
    kafka.advance(seconds=OPTIONS.timeout_ms / 1000 + 30)

    again = restarted(driver)
    for _ in range(2):
        with pytest.raises(SourceError) as caught:
            again.epoch(0, values(0))
    again.epoch(1, values(1))  # epoch 0 was written without transactions in between

    text = str(caught.value)
    assert "[KAFKA_TRANSACTION_LOST] epoch 0: 1 of 2 transactions" in text
    assert prepared[1].transactional_id in text
    assert prepared[0].transactional_id not in text
    assert "exactlyOnce=false" in text
    assert settled_values(driver.settings) == ["0-0", "0-2", *values(1)]


def test_a_batch_write_is_visible_when_it_is_committed_and_never_when_it_is_aborted(
    driver: Driver,
) -> None:
    write, failed = (Driver(driver.settings, Run(name, "write")) for name in ("write", "failed"))
    failed.task(0, ["lost"])
    prepared = [write.task(0, values(0)), write.task(1, values(1))]
    write.task(1, ["slower"], attempt=1)

    abort_write(failed.settings, OPTIONS, failed.run)
    commit_write(write.settings, OPTIONS, write.run, prepared=prepared)

    assert settled_values(driver.settings) == values(0) + values(1)
    assert failed.open_ids() == write.open_ids() == []


def test_a_batch_write_that_is_committed_in_part_says_so(kafka: Kafka, driver: Driver) -> None:
    write = restarted(driver, "write", **AT_ONCE)
    prepared = [driver.task(0, values(0)), driver.task(1, values(1))]
    with (
        kafka.fault(api="EndTxn", disconnect="before", after=1),
        pytest.raises(SourceError) as caught,
    ):
        commit_write(write.settings, OPTIONS, driver.run, prepared=prepared)
    abort_write(driver.settings, OPTIONS, driver.run)

    text = str(caught.value)
    assert "[KAFKA_TRANSACTION_LOST] the write is not whole: 1 of 2 transactions" in text
    assert prepared[1].transactional_id in text
    assert settled_values(driver.settings) == values(0)


def test_a_batch_write_whose_transaction_has_ended_commits_nothing(
    kafka: Kafka, driver: Driver
) -> None:
    prepared = [driver.task(0, values(0)), driver.task(1, values(1))]
    kafka.advance(seconds=OPTIONS.timeout_ms / 1000 + 30)
    prepared[0] = driver.task(0, values(0))

    with pytest.raises(SourceError, match=r"the write: 1 transactions ended before the commit"):
        commit_write(driver.settings, OPTIONS, driver.run, prepared=prepared)
    abort_write(driver.settings, OPTIONS, driver.run)

    assert settled_values(driver.settings) == []
