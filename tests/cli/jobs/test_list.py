import json
from collections.abc import Iterator

import pytest

from trio_kafka.cli import main
from trio_kafka.testing.kafka.threaded import Kafka, running_broker


@pytest.fixture(scope="module")
def kafka() -> Iterator[Kafka]:
    with running_broker() as kafka:
        yield kafka


def test_jobs_list_shows_one_row_per_job(kafka: Kafka, capsys: pytest.CaptureFixture[str]) -> None:
    kafka.run_job("kafka-log-retention")

    assert main(["jobs", "list", "--bootstrap", kafka.bootstrap]) == 0

    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split()[:3] == ["job", "every", "s"]
    assert [row.split()[0] for row in rows] == [job.name for job in kafka.jobs()]
    [retention] = [row.split() for row in rows if row.startswith("kafka-log-retention ")]
    assert retention[1] == "300"
    assert retention[5:] == ["1", "0", "-"]


def test_jobs_list_json_has_every_figure_of_a_job(
    kafka: Kafka, capsys: pytest.CaptureFixture[str]
) -> None:
    main(["jobs", "list", "--json", "--bootstrap", kafka.bootstrap])

    jobs = {job["name"]: job for job in json.loads(capsys.readouterr().out)["jobs"]}
    assert jobs["quota-expiry"]["next_in_s"] is None
    assert jobs["kafka-log-retention"]["failures"] == 0
    assert set(jobs["kafka-log-retention"]) == {
        "name",
        "interval_s",
        "next_in_s",
        "last_ago_s",
        "last_took_s",
        "running",
        "runs",
        "failures",
        "last_error",
    }
