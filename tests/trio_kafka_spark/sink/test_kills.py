"""Kill tests of `exactlyOnce=true`: driver, JVM and workers get SIGKILL at a request."""

import json
import random
import sys
import textwrap
from pathlib import Path
from typing import Final

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from tests.trio_kafka_spark.processes import has_ended, kill_group, process_group
from tests.trio_kafka_spark.sink.transactional import client, settled_values
from trio_kafka.testing.kafka.threaded import Kafka

PROGRAM: Final = """
    import sys
    from trio_kafka_spark.session import session

    bootstrap, directory = sys.argv[1:]
    spark = session("kills", settings={"spark.local.dir": directory + "/spark"})
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.readStream.schema("value STRING").option("maxFilesPerTrigger", "1")
    query = (
        rows.json(directory + "/in")
        .repartition(2)
        .writeStream.format("trio-kafka")
        .option("kafka.bootstrap.servers", bootstrap)
        .option("topic", "orders")
        .option("exactlyOnce", "true")
        .option("checkpointLocation", directory + "/checkpoint")
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    print("done", flush=True)
"""
EPOCHS: Final = 3
# Where a process may end: while a task begins or writes, around the list, between two commits.
APIS: Final = ("InitProducerId", "AddPartitionsToTxn", "Produce", "ListTransactions", "EndTxn")


@pytest.mark.spark
@pytest.mark.slow
@pytest.mark.long
@pytest.mark.timeout(1800)
def test_each_record_is_visible_once_although_all_processes_are_killed_at_any_request(
    kafka: Kafka, tmp_path: Path
) -> None:
    dice, kills = random.Random(random.randrange(1000)), 6
    kafka.create_topic("orders", partitions=2)
    (tmp_path / "in").mkdir()
    expected = []
    for epoch in range(EPOCHS):
        values = [f"{epoch}-{number:03}" for number in range(200)]
        lines = [json.dumps({"value": value}) for value in values]
        (tmp_path / "in" / f"{epoch}.json").write_text("\n".join(lines))
        expected += values
    command = [
        sys.executable,
        "-c",
        textwrap.dedent(PROGRAM),
        kafka.bootstrap,
        str(tmp_path),
    ]
    killed = []
    for _ in range(kills):
        api, after = dice.choice(APIS), dice.randrange(8)
        with (
            kafka.fault(api=api, hold=True, after=after) as held,
            process_group(tmp_path / "stderr", command) as process,
        ):
            kafka.wait_until(lambda: held.held > 0 or has_ended(process), timeout_s=300)
            killed.append((api, after, has_ended(process)))
            kill_group(process)
    with process_group(tmp_path / "stderr", command) as process:
        assert process.stdout is not None
        printed = process.stdout.read().split()
        assert (process.wait(), printed) == (0, ["done"]), (tmp_path / "stderr").read_text()

    assert settled_values(client(kafka.bootstrap)) == expected, killed
