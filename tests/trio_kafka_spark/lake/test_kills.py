"""Kill tests: a topic → table → topic pipeline whose processes are killed at random.

Each run is a process group of its own. Its driver and JVM are killed together, or its Python
workers alone. The pipeline is started again until it ends by itself.
"""

import os
import random
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

import pyarrow as pa
import pyarrow.dataset as ds
from confluent_kafka import Producer
from deltalake import DeltaTable

from tests.trio_kafka_spark.processes import has_ended, kill_group, process_group
from tests.trio_kafka_spark.source.kit import Record, add_partitions, produce
from tests.trio_kafka_spark.topics import create_topic, read_topic
from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka.testing.processes import BrokerProcess

PIPELINE = """
    import sys
    from trio_kafka_spark.lake import table_to_topic, topic_to_table
    from trio_kafka_spark.session import session

    bootstrap, topic, path, table, limit = sys.argv[1:]
    spark = session("kills", settings={"spark.local.dir": path + ".spark"})
    spark.sparkContext.setLogLevel("OFF")
    where = {"kafka.bootstrap.servers": bootstrap}
    source = {**where, "subscribe": topic, "maxOffsetsPerTrigger": limit}
    print("reading", flush=True)
    topic_to_table(spark, source, path, table=table, lag=None).awaitTermination()
    print("writing", flush=True)
    table_to_topic(spark, path, where, table=table, topic=topic + "-again")
    print("done", flush=True)
"""


TABLE = """
    import sys
    from trio_kafka_spark.lake import topic_to_table
    from trio_kafka_spark.session import session

    bootstrap, topic, path, table = sys.argv[1:]
    spark = session("kills", settings={"spark.local.dir": path + ".spark"})
    spark.sparkContext.setLogLevel("OFF")
    source = {"kafka.bootstrap.servers": bootstrap, "subscribe": topic}
    topic_to_table(spark, source, path, table=table, lag=None).awaitTermination()
    print("done", flush=True)
"""


def pipeline(
    log: Path, *arguments: str, program: str = PIPELINE
) -> AbstractContextManager[subprocess.Popen[str]]:
    """Run a pipeline once; all of its processes are gone at the end."""
    return process_group(log, [sys.executable, "-c", textwrap.dedent(program), *arguments])


def workers_of(process: subprocess.Popen[str]) -> list[int]:
    """Python workers below a driver: children of its children, by the ids of their parents."""
    parents: dict[int, int] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                status = (entry / "stat").read_text().rpartition(")")[2].split()
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue  # it has ended
            parents[int(entry.name)] = int(status[1]) if b"pyspark" in command else -1
    result = {process.pid}
    while more := {pid for pid, parent in parents.items() if parent in result} - result:
        result |= more
    return [
        pid
        for pid in result - {process.pid}
        if b"daemon" in Path(f"/proc/{pid}/cmdline").read_bytes()
    ]


def wait_for(process: subprocess.Popen[str], word: str) -> None:
    """Read what the pipeline prints until this word, or until it has ended."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.strip() == word:
            return


def read_rows(path: Path, table: str) -> pa.Table:
    if table == "delta":
        return DeltaTable(str(path)).to_pyarrow_table()
    return ds.dataset(path, format="parquet", partitioning="hive").to_table()


@pytest.mark.long
@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_each_record_is_in_table_and_second_topic_once_although_processes_are_killed(
    shared_broker: BrokerProcess, tmp_path: Path, size: Callable[[int, int], int]
) -> None:
    count, kills = size(2000, 40_000), size(2, 12)
    for table in ["parquet", "delta"][: size(1, 2)]:
        dice = random.Random(table)
        topic, path = f"kills-{table}", tmp_path / table
        create_topic(shared_broker.bootstrap, topic, 2)
        create_topic(shared_broker.bootstrap, f"{topic}-again", 2)
        producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
        for number in range(count):
            producer.produce(topic, str(number).encode(), partition=number % 2)
        assert producer.flush(30) == 0
        arguments = (shared_broker.bootstrap, topic, str(path), table, str(count // 6))
        killed = 0
        for run in range(kills * 4):
            with pipeline(tmp_path / "stderr", *arguments) as process:
                if killed < kills:
                    wait_for(process, "writing" if run % 3 == 2 else "reading")
                    try:
                        process.wait(timeout=dice.uniform(0.2, 5))
                    except subprocess.TimeoutExpired:
                        killed += 1
                        if dice.random() < 0.3 and (workers := workers_of(process)):
                            os.kill(dice.choice(workers), signal.SIGKILL)
                        else:
                            kill_group(process)
                assert process.stdout is not None
                words = process.stdout.read().split()
                if process.wait() == 0 and "done" in words and killed == kills:
                    break
        else:
            pytest.fail(f"the pipeline did not end by itself: {(tmp_path / 'stderr').read_text()}")

        rows = read_rows(path, table)
        values = Counter(int(value) for value in rows.column("value").to_pylist())
        again = {
            int(record.value()) for record in read_topic(shared_broker.bootstrap, f"{topic}-again")
        }
        assert killed == kills
        assert values == Counter(range(count))
        assert again == set(range(count))


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("table", ["parquet", pytest.param("delta", marks=pytest.mark.long)])
def test_a_table_has_each_record_once_although_its_first_batch_is_killed(
    kafka: Kafka, tmp_path: Path, size: Callable[[int, int], int], table: str
) -> None:
    """Partitions come between the kill and the next start: the first batch does not have them."""
    path, kills = tmp_path / table, size(1, 4)
    kafka.create_topic("orders", partitions=1)
    kafka.produce("orders", *[b"%d" % number for number in range(20)])
    arguments = (kafka.bootstrap, "orders", str(path), table)
    for kill in range(kills):
        with (
            kafka.fault(api="Fetch", hold=True) as fetches,
            pipeline(tmp_path / "stderr", *arguments, program=TABLE) as process,
        ):
            kafka.wait_until(lambda: fetches.held > 0 or has_ended(process), timeout_s=120)
            kill_group(process)
        assert (path / "_checkpoint" / "offsets" / "0").exists(), (tmp_path / "stderr").read_text()
        assert not (path / "_checkpoint" / "commits" / "0").exists()
        add_partitions(kafka.bootstrap, "orders", kill + 2)
        new = Record(partition=kill + 1, value=b"%d" % (20 + kill))
        produce(kafka.bootstrap, "orders", [new])

    with pipeline(tmp_path / "stderr", *arguments, program=TABLE) as process:
        assert process.stdout is not None
        words = process.stdout.read().split()
        assert (process.wait(), words) == (0, ["done"]), (tmp_path / "stderr").read_text()

    values = Counter(int(value) for value in read_rows(path, table).column("value").to_pylist())
    assert values == Counter(range(20 + kills))
