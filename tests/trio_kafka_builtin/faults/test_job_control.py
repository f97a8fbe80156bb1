"""The periodic jobs of a broker over HTTP, as suites in other languages use them."""

import pytest

from tests.trio_kafka_builtin.faults.test_state_controls import ask
from trio_kafka.controls.values import Record
from trio_kafka.testing.kafka.threaded import Kafka, running_broker
from trio_kafka_builtin.faults.plugin import faults


@pytest.fixture
def kafka():
    with running_broker({"plugin.faults.enabled": "true"}, plugins=[faults]) as kafka:
        yield kafka


def test_periodic_jobs_are_listed_with_their_interval_and_counts(kafka: Kafka) -> None:
    jobs = ask(kafka, "GET", "/jobs").json()["jobs"]

    retention = next(job for job in jobs if job["name"] == "kafka-log-retention")
    assert retention["interval_s"] == 300
    assert (retention["runs"], retention["failures"], retention["running"]) == (0, 0, False)
    assert 0 < retention["next_in_s"] <= 300


def test_a_job_runs_at_once_when_requested_over_http(kafka: Kafka) -> None:
    kafka.create_topic("orders", configs={"retention.ms": "1000"})
    kafka.produce("orders", Record(value="old", timestamp_ms=1))

    answer = ask(kafka, "POST", "/jobs/kafka-log-retention/run")

    assert answer.status == 200
    assert answer.json()["error"] is None
    assert kafka.records("orders") == []


@pytest.mark.parametrize(
    ("method", "path", "status", "text"),
    [
        ("POST", "/jobs/retention/run", 404, "kafka-log-retention"),
        ("POST", "/jobs/kafka-log-retention", 405, "is not a method"),
        ("DELETE", "/jobs/kafka-log-retention", 405, "is not a method"),
    ],
)
def test_an_unknown_job_or_method_is_refused_with_a_reason(
    method: str, path: str, status: int, text: str, kafka: Kafka
) -> None:
    answer = ask(kafka, method, path)

    assert answer.status == status
    assert text in answer.json()["message"]


def test_the_response_contains_the_error_that_a_job_raised(kafka: Kafka) -> None:
    def fail() -> None:
        raise OSError("disk")

    kafka.look(lambda broker: broker.parts.scheduler.every("bad", 100.0, fail))

    assert ask(kafka, "POST", "/jobs/bad/run").json()["error"] == "OSError: disk"
