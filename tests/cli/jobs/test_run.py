import json
from collections.abc import Iterator

import pytest

from trio_kafka.cli import main
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    def fail() -> None:
        raise OSError("disk\x1b[2J")

    with running_broker() as kafka:
        kafka.look(lambda broker: broker.parts.scheduler.every("bad", 100.0, fail))
        yield kafka


def run(kafka: Kafka, *arguments: str) -> int:
    return main(["jobs", "run", *arguments, "--bootstrap", kafka.bootstrap])


def test_jobs_run_runs_the_named_job(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(kafka, "kafka-log-retention") == 0

    assert capsys.readouterr().out.startswith("job kafka-log-retention: done in 0.")


def test_failed_job_ends_with_status_1_and_its_error(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "bad") == 1

    out = capsys.readouterr().out
    assert out.startswith("job bad: failed after 0.")
    assert "s: OSError: disk" in out
    assert "\x1b" not in out


def test_jobs_run_json_has_duration_and_error(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "bad", "--json") == 1

    assert json.loads(capsys.readouterr().out)["error"].startswith("OSError: disk")


def test_unknown_job_is_refused_with_the_list_of_jobs(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(kafka, "retention") == 1

    assert "no job 'retention': there are " in capsys.readouterr().err
