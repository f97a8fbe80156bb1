import pytest

from trio_kafka.controls.values import Record
from trio_kafka.periodic_jobs import UnknownJobError
from trio_kafka.testing.kafka.jobs import RETENTION, JobFailedError
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture
def kafka():
    with running_broker() as kafka:
        yield kafka


def test_apply_retention_deletes_expired_records(kafka: Kafka) -> None:
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


def test_apply_retention_keeps_young_records(kafka: Kafka) -> None:
    kafka.create_topic("orders", configs={"retention.ms": "1000000"})
    kafka.produce("orders", "young")

    kafka.apply_retention()

    assert [record.text for record in kafka.records("orders")] == ["young"]


def test_every_listed_job_can_be_run(kafka: Kafka) -> None:
    def runs() -> dict[str, int]:
        return {job.name: job.runs for job in kafka.jobs()}

    before = runs()
    for name in before:
        assert kafka.run_job(name).error is None

    assert RETENTION in before
    assert all(after > before[name] for name, after in runs().items())


def test_run_of_a_failing_job_raises_its_error(kafka: Kafka) -> None:
    def fail() -> None:
        raise OSError("disk")

    kafka.look(lambda broker: broker.parts.scheduler.every("bad", 100.0, fail))

    with pytest.raises(JobFailedError, match="job bad: OSError: disk"):
        kafka.run_job("bad")


def test_run_of_an_unknown_job_lists_the_known_jobs(kafka: Kafka) -> None:
    with pytest.raises(UnknownJobError, match="kafka-log-retention"):
        kafka.run_job("retention")
