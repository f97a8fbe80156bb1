"""The README's block of Spark, run as it stands; tests/e2e/test_readme.py runs the others.

The long form runs it in a process of its own, where a session with settings of the caller follows.
"""

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from confluent_kafka import Producer

from tests.e2e.test_readme import ADDRESS, PYTHON
from trio_kafka.testing.processes import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

MINE = """
spark.stop()
made = session("mine", settings={"spark.sql.shuffle.partitions": 5})
print("settings", made.conf.get("spark.sql.shuffle.partitions"), made.sparkContext.master)
made.stop()
"""


@pytest.fixture(scope="module")
def block(shared_broker: BrokerProcess) -> str:
    """The README's block; its topic is there."""
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    producer.produce("greetings", "hello")
    assert producer.flush(20) == 0
    result = next(block for block in PYTHON if "spark" in block)
    return result.replace(ADDRESS, shared_broker.bootstrap)


def test_the_spark_example_of_the_readme_shows_the_topic(
    spark: "SparkSession", block: str, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(block, {})

    assert "|     0|hello|" in capsys.readouterr().out


@pytest.mark.long
def test_the_readme_example_runs_in_a_new_process_and_explicit_settings_apply(
    block: str, tmp_path: Path
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", block + MINE],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "|     0|hello|" in done.stdout
    assert "settings 5 local[2]" in done.stdout
