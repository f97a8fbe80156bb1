"""The README's block of Spark, run as it stands; tests/e2e/test_readme.py runs the others.

A session with settings of its own follows in the same process, which takes long to start.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.e2e.test_readme import ADDRESS, PYTHON
from trio_kafka.testing.processes import BrokerProcess

MINE = """
spark.stop()
made = session("mine", settings={"spark.sql.shuffle.partitions": 5})
print("settings", made.conf.get("spark.sql.shuffle.partitions"), made.sparkContext.master)
made.stop()
"""


@pytest.mark.spark
def test_spark_shows_the_topic_and_settings_of_a_caller_win(
    shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    producer.produce("greetings", "hello")
    assert producer.flush(20) == 0
    block = next(block for block in PYTHON if "spark" in block)

    done = subprocess.run(
        [sys.executable, "-c", block.replace(ADDRESS, shared_broker.bootstrap) + MINE],
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
