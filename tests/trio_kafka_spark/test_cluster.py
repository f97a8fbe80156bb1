"""The same program on a standalone master with two workers, and through Spark Connect."""

import os
import re
import subprocess
import sys
import textwrap
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from confluent_kafka import Producer

from trio_kafka.testing.processes import BrokerProcess, child_process

pytestmark = [pytest.mark.spark, pytest.mark.timeout(240)]
RECORDS = 1000
_ADDRESS = re.compile(r"Starting Spark master at (spark://\S+)")
_WORKER = "Registering worker"
_UP_WITHIN_S = 90.0

PROGRAM = """
    import sys
    from trio_kafka_spark.session import session

    bootstrap, topic, *master = sys.argv[1:]
    spark = session("everywhere", master=master[0] if master else None, settings={settings})
    frame = spark.read.format("trio-kafka").option("kafka.bootstrap.servers", bootstrap)
    frame = frame.option("subscribe", topic).option("minPartitions", 4).load()
    found = frame.selectExpr("count(*)", "count(distinct partition, offset)").first()
    print("found", *found)
    spark.stop()
"""
REMOTE = """
    import sys
    from pyspark.sql import SparkSession

    bootstrap, topic = sys.argv[1:]
    spark = SparkSession.builder.remote("local[2]").getOrCreate()
    frame = spark.read.format("trio-kafka").option("kafka.bootstrap.servers", bootstrap)
    frame = frame.option("subscribe", topic).load()
    found = frame.selectExpr("count(*)", "count(distinct partition, offset)").first()
    print("found", *found)
    spark.stop()
"""


@contextmanager
def spark_class(name: str, log: Path, *arguments: str) -> Iterator[Path]:
    """One of Spark's own daemons, by its class, until the block ends."""
    pyspark = pytest.importorskip("pyspark", reason="pyspark is not installed")
    program = Path(pyspark.__file__).parent / "bin" / "spark-class"
    with child_process([str(program), f"org.apache.spark.deploy.{name}", *arguments], log):
        yield log


def wait_for(log: Path, pattern: str, times: int = 1) -> re.Match[str]:
    """The first match of a pattern in a log, once there are so many."""
    ends = time.monotonic() + _UP_WITHIN_S
    while time.monotonic() < ends:
        result = list(re.finditer(pattern, log.read_text(errors="replace")))
        if len(result) >= times:
            return result[0]
        time.sleep(0.05)  # a daemon tells nobody but its log
    raise AssertionError(f"{pattern} not found in:\n{log.read_text()}")


def produced(bootstrap: str, topic: str) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(RECORDS):
        producer.produce(topic, b"%d" % number)
    assert producer.flush(20) == 0


def run(program: str, directory: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.long
def test_a_query_runs_on_a_spark_master_with_two_workers(
    shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    produced(shared_broker.bootstrap, "cluster-1")
    here = ("--host", "127.0.0.1", "--port", "0", "--webui-port", "0")
    with spark_class("master.Master", tmp_path / "master.log", *here) as log:
        master = wait_for(log, _ADDRESS.pattern)[1]
        worker = (*here, "--cores", "1", "--memory", "1g", "-d", str(tmp_path), master)
        with (
            spark_class("worker.Worker", tmp_path / "worker-1.log", *worker),
            spark_class("worker.Worker", tmp_path / "worker-2.log", *worker),
        ):
            wait_for(log, _WORKER, times=2)
            settings = {
                "spark.executor.cores": 1,
                "spark.executor.memory": "512m",
                "spark.driver.host": "127.0.0.1",
                "spark.ui.enabled": "false",
            }
            program = PROGRAM.replace("{settings}", repr(settings))
            output = run(program, tmp_path, shared_broker.bootstrap, "cluster-1", master)
            executors = re.findall(r"Launched executor|Launching executor", log.read_text())

    assert f"found {RECORDS} {RECORDS}" in output
    assert len(executors) >= 2


@pytest.mark.long
def test_a_query_runs_through_spark_connect(shared_broker: BrokerProcess, tmp_path: Path) -> None:
    produced(shared_broker.bootstrap, "connect-1")

    output = run(REMOTE, tmp_path, shared_broker.bootstrap, "connect-1")

    assert f"found {RECORDS} {RECORDS}" in output
