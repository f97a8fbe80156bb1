"""The README's block of Spark, run as it stands; tests/e2e/test_readme.py runs the others."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from confluent_kafka import Producer

from tests.e2e.test_readme import ADDRESS, PYTHON
from trio_kafka.testing.processes import BrokerProcess


@pytest.mark.spark
def test_spark_shows_the_topic(shared_broker: BrokerProcess, tmp_path: Path) -> None:
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    producer.produce("greetings", "hello")
    assert producer.flush(20) == 0
    block = next(block for block in PYTHON if "spark" in block)

    done = subprocess.run(
        [sys.executable, "-c", block.replace(ADDRESS, shared_broker.bootstrap)],
        cwd=tmp_path,
        env={name: value for name, value in os.environ.items() if name != "PYSPARK_PYTHON"},
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "|     0|hello|" in done.stdout
