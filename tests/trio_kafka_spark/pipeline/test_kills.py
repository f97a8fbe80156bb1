"""Declarative pipelines whose first batch is killed."""

import json
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from pyarrow import parquet

from tests.trio_kafka_spark.processes import has_ended, kill_group, process_group
from tests.trio_kafka_spark.source.kit import Record, add_partitions, produce
from trio_kafka.cli import main
from trio_kafka.testing.kafka.threaded import Kafka

RECORDS = 20


def batches(target: Path, log: str) -> list[str]:
    """Return the numbers of the batches in a log of the table's checkpoint."""
    places = (target / "pipeline-storage").rglob(f"{log}/*")
    return sorted(place.name for place in places if place.name.isdecimal())


def committed_values(table: Path) -> Counter[int]:
    """Return the values of a streaming table: its log names the files of batches that ended."""
    values: Counter[int] = Counter()
    for log in (table / "_spark_metadata").glob("[0-9]*"):
        for line in log.read_text().splitlines()[1:]:  # after the version
            rows = parquet.read_table(table / Path(json.loads(line)["path"]).name).to_pylist()
            values.update(int(row["value"]) for row in rows)
    return values


@pytest.mark.long  # a minute for each run; lake/test_kills.py has the same stream without Connect
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_a_declarative_table_has_each_record_once_although_its_first_batch_is_killed(
    kafka: Kafka, tmp_path: Path
) -> None:
    """A partition comes between the kill and the next start: the first batch does not have it."""
    target, errors = tmp_path / "p", tmp_path / "stderr"
    assert main(["pipeline", "init", "p", "--topic", "orders", "--directory", str(target)]) == 0
    kafka.create_topic("orders", partitions=1)
    kafka.produce("orders", *[b"%d" % number for number in range(RECORDS)])
    words = ["pipeline", "run", str(target), "--bootstrap", kafka.bootstrap]
    command = [sys.executable, "-m", "trio_kafka", *words]
    with kafka.fault(api="Fetch", hold=True) as fetches, process_group(errors, command) as process:
        kafka.wait_until(lambda: fetches.held > 0 or has_ended(process), timeout_s=300)
        kill_group(process)
    output = errors.read_text()
    assert (batches(target, "offsets"), batches(target, "commits")) == (["0"], []), output
    add_partitions(kafka.bootstrap, "orders", 2)
    produce(kafka.bootstrap, "orders", [Record(partition=1, value=b"%d" % RECORDS)])

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    table = target / "spark-warehouse" / "records"
    assert committed_values(table) == Counter(range(RECORDS + 1))
