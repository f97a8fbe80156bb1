import pytest

from trio_kafka.controls.values import Record
from trio_kafka.periodic_jobs import UnknownJobError
from trio_kafka.testing.kafka.jobs import RETENTION, JobFailedError
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture
def kafka():
    with running_broker() as kafka:
        yield kafka


def test_retention_is_applied_when_a_test_says_so(kafka: Kafka) -> None:
    kafka.create_topic("orders", configs={"retention.ms": "1000"})
    kafka.produce("orders", Record(value="old", timestamp_ms=1))
    assert len(kafka.records("orders")) == 1

    kafka.apply_retention()

    assert kafka.records("orders") == []


def test_retention_is_applied_to_a_topic_that_is_also_compacted(kafka: Kafka) -> None:
    policies = {"retention.ms": "1000", "cleanup.policy": "compact,delete"}
    kafka.create_topic("orders", configs=policies)
    kafka.produce("orders", Record(key="a", value="old", timestamp_ms=1))

    kafka.apply_retention()

    assert kafka.records("orders") == []


def test_retention_leaves_what_is_young(kafka: Kafka) -> None:
    kafka.create_topic("orders", configs={"retention.ms": "1000000"})
    kafka.produce("orders", "young")

    kafka.apply_retention()

    assert [one.text for one in kafka.records("orders")] == ["young"]


def test_any_job_is_run_and_listed(kafka: Kafka) -> None:
    def runs() -> dict[str, int]:
        return {one.name: one.runs for one in kafka.jobs()}

    before = runs()
    for name in before:
        assert kafka.run_job(name).error is None

    assert RETENTION in before
    assert all(after > before[name] for name, after in runs().items())


def test_a_job_that_fails_fails_the_test(kafka: Kafka) -> None:
    def fail() -> None:
        raise OSError("disk")

    kafka.look(lambda broker: broker.parts.scheduler.every("bad", 100.0, fail))

    with pytest.raises(JobFailedError, match="job bad: OSError: disk"):
        kafka.run_job("bad")


def test_an_unknown_job_is_named(kafka: Kafka) -> None:
    with pytest.raises(UnknownJobError, match="kafka-log-retention"):
        kafka.run_job("retention")
