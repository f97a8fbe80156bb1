"""`trio-kafka pipeline run` becomes spark-pipelines; one test runs a pipeline for real."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka import Producer

from trio_kafka.cli import main
from trio_kafka.cli.cluster_address import Bootstrap
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.pipeline.run import (
    command_line,
    environment,
    settings_left_out,
    spark_home,
)

RUN_S = 600.0


def command(**more: object) -> list[str]:
    options = {"remote": "local[2]", "conf": [], "dry_run": False, "full_refresh_all": False}
    return command_line("/spark", "spark-pipeline.yml", **{**options, **more})


def test_settings_that_a_pipeline_does_not_get_are_named() -> None:
    settings = {"bootstrap.servers": "h:1", "retries": "2"}

    assert settings_left_out(Bootstrap("h:1", settings, {"acks": "1"})) == ["acks", "retries"]
    assert settings_left_out("h:1") == []


def test_settings_for_one_machine_are_added_only_to_a_local_run() -> None:
    local, remote = command(conf=["a=b"]), command(remote="sc://host:1", conf=["a=b"])

    assert local[:4] == ["/spark/bin/spark-pipelines", "run", "--remote", "local[2]"]
    assert "spark.sql.catalogImplementation=hive" in local
    assert local[-4:] == ["--conf", "a=b", "--spec", "spark-pipeline.yml"]
    assert remote[3:] == ["sc://host:1", "--conf", "a=b", "--spec", "spark-pipeline.yml"]


def test_a_dry_run_leaves_out_full_refresh() -> None:
    assert command(dry_run=True, full_refresh_all=True)[1] == "dry-run"
    assert "--full-refresh-all" not in command(dry_run=True, full_refresh_all=True)
    assert command(full_refresh_all=True)[-1] == "--full-refresh-all"


def test_workers_run_this_interpreter_unless_pyspark_python_is_set() -> None:
    result = environment({"A": "b"}, home="/spark", java=None, bootstrap="host:1", local=True)
    assert result == {
        "A": "b",
        "PYSPARK_PYTHON": sys.executable,
        "SPARK_HOME": "/spark",
        "TRIO_KAFKA_BOOTSTRAP": "host:1",
    }
    variables = {"PYSPARK_PYTHON": "/python", "TRIO_KAFKA_BOOTSTRAP": "other:1"}
    result = environment(variables, home="/spark", java="/java", bootstrap="other:1", local=True)
    assert result == {**variables, "SPARK_HOME": "/spark", "JAVA_HOME": "/java"}


def test_only_local_workers_of_an_installed_pyspark_run_the_launcher(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    home = spark_home({})

    here = environment({}, home=home, java=None, bootstrap="host:1", local=True)["PYSPARK_PYTHON"]

    assert Path(here).is_relative_to(tmp_path)
    elsewhere = environment({}, home=home, java=None, bootstrap="host:1", local=False)
    assert elsewhere["PYSPARK_PYTHON"] == sys.executable


def test_spark_home_of_the_environment_is_used() -> None:
    assert spark_home({"SPARK_HOME": "/spark"}) == "/spark"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["."], ". has no spark-pipeline.yml: `trio-kafka pipeline init NAME` writes a pipeline"),
        (["/no/such"], "/no/such has no spark-pipeline.yml"),
        (["p", "--conf", "a"], "--conf a: expected NAME=VALUE"),
        (
            ["p", *["--conf", "a=b"] * 3],
            "3 times --conf with local[2]: Spark loses settings beyond 2",
        ),
        (["p"], "/nowhere/bin/spark-pipelines cannot be run: set SPARK_HOME to Spark 4.1 or later"),
    ],
)
def test_pipeline_run_fails_with_the_reason_if_a_requirement_is_missing(
    words: list[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SPARK_HOME", "/nowhere")
    monkeypatch.setenv("JAVA_HOME", "/java")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "spark-pipeline.yml").touch()

    assert main(["pipeline", "run", *words]) == 1

    assert why in capsys.readouterr().err


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(RUN_S)
def test_the_pipeline_template_runs_and_a_second_run_adds_new_records(
    shared_broker: BrokerProcess, tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    """The second run, of half a minute, is left to `make test-long`."""
    topic = "pipeline-template"
    target = tmp_path / "p"
    assert main(["pipeline", "init", "p", "--topic", topic, "--directory", str(target)]) == 0

    counts = (100, 50)[: size(1, 2)]
    for count in counts:
        producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
        for number in range(count):
            producer.produce(topic, key=f"k{number % 5}", value=f"v{number}")
        assert producer.flush(20) == 0
        words = ["pipeline", "run", str(target), "--bootstrap", shared_broker.bootstrap]
        done = subprocess.run(
            [sys.executable, "-m", "trio_kafka", *words],
            capture_output=True,
            text=True,
            check=False,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        )
        assert done.returncode == 0, done.stdout + done.stderr
        assert "Run is COMPLETED" in done.stdout + done.stderr

    from pyarrow import parquet

    def table(name: str) -> list[dict[str, object]]:
        files = (target / "spark-warehouse" / name).glob("*.parquet")
        return [row for file in files for row in parquet.read_table(file).to_pylist()]

    assert sorted(row["offset"] for row in table("records")) == list(range(sum(counts)))
    assert {row["key"]: row["records"] for row in table("per_key")} == {
        f"k{number}": sum(counts) // 5 for number in range(5)
    }
