"""The guides of Spark, block by block: every command and every Python block runs as it stands.

Addresses and directories of the guides become those of the test.
"""

import re
import shlex
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.project.shell_pages import blocks, shell_blocks
from tests.project.tree import ROOT
from tests.trio_kafka_spark.jobs.test_request_log import line as request_line
from tests.trio_kafka_spark.log.kit import batch, partition, segment
from tests.trio_kafka_spark.source.kit import create_topic
from trio_kafka.cli import main
from trio_kafka.testing.processes import BrokerProcess

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = [pytest.mark.spark, pytest.mark.slow]
GUIDES = ROOT / "docs" / "how-to"
JOBS = [line for text in shell_blocks(GUIDES / "spark-jobs.md") for line in text.splitlines()]
RECORDS = 200
Here = Callable[[str], str]


@pytest.fixture(scope="module")
def here(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Here]:
    """Return a text of a guide with this test's addresses and directories; the topics are there."""
    for topic in ("orders", "orders-wide", "orders-again", "orders-restored", "orders-exact"):
        create_topic(shared_broker.bootstrap, topic)
    producer = Producer({"bootstrap.servers": shared_broker.bootstrap})
    for number in range(RECORDS):
        producer.produce("orders", str(number), key=f"customer-{number % 7}")
    for client in ("shop", "billing"):
        producer.produce("trio-request-log", request_line("FETCH", client))
    assert producer.flush(30) == 0
    group = Consumer({"bootstrap.servers": shared_broker.bootstrap, "group.id": "billing"})
    group.commit(offsets=[TopicPartition("orders", 0, 50)], asynchronous=False)
    group.close()
    directory = tmp_path_factory.mktemp("guides")
    segment(partition(directory / "backup", 0, "orders"), [batch(0)])
    (
        spark.read.format("trio-kafka-log")
        .options(path=str(directory / "backup"), subscribe="orders", includeHeaders="true")
        .load()
        .write.parquet(str(directory / "table"))
    )
    places = {
        "/var/lib/trio-kafka": str(shared_broker.data),
        "/backup/kafka": str(directory / "backup"),
        "/lake/orders": str(directory / "table"),
        '"lake/orders"': f'"{directory / "lake"}"',
        '"checkpoints/': f'"{directory}/checkpoints/',
        "127.0.0.1:9092": shared_broker.bootstrap,
        "localhost:9092": shared_broker.bootstrap,
    }

    def with_places(text: str) -> str:
        for name, place in places.items():
            text = text.replace(name, place)
        return text

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIO_KAFKA_BOOTSTRAP", shared_broker.bootstrap)
        yield with_places


def run_blocks(page: str, here: Here, names: dict[str, Any]) -> None:
    """Run the Python blocks of a guide, one after the other, in these names."""
    for block in blocks(GUIDES / page):
        if block.language == "python":
            # A query without an end is waited for until it has read what there is.
            text = block.text.replace("query.awaitTermination()", "query.processAllAvailable()")
            exec(compile(here(text), page, "exec"), names)


@pytest.mark.parametrize("line", JOBS)
def test_each_command_of_the_guide_of_jobs_succeeds(
    line: str, here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    program, *words = shlex.split(here(line))

    assert (program, main(words)) == ("trio-kafka", 0)
    assert capsys.readouterr().out or " verify " in line


def test_the_python_of_the_guide_of_jobs_runs(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    run_blocks("spark-jobs.md", here, {})

    assert re.search(r"\| *ratio *\|", capsys.readouterr().out)


def test_the_python_of_the_guide_of_log_directories_reads_the_files(
    here: Here, capsys: pytest.CaptureFixture[str]
) -> None:
    names: dict[str, Any] = {}

    run_blocks("spark-logs.md", here, names)

    assert names["sizes"].columns == ["partition", "offset"]
    assert names["sizes"].count() >= RECORDS
    assert re.search(r"\|error *\|", capsys.readouterr().out)


def test_the_python_of_the_guide_of_writing_writes_rows_and_a_stream(
    spark: "SparkSession", here: Here
) -> None:
    spark.range(20).createOrReplaceTempView("orders")
    source = spark.readStream.format("trio-kafka").option("subscribe", "orders")
    stream = (
        source.option("kafka.bootstrap.servers", here("localhost:9092"))
        .option("startingOffsets", "earliest")
        .option("maxOffsetsPerTrigger", "50")
        .load()
    )
    names: dict[str, Any] = {"spark": spark, "stream": stream}

    run_blocks("spark-write.md", here, names)
    query = names["query"]
    try:
        while not query.recentProgress:
            assert query.isActive, query.exception()
            query.awaitTermination(0.1)
    finally:
        query.stop()

    assert names["rows"].count() == 20
    progress = query.recentProgress[0]
    assert 0 < progress["numInputRows"] == progress["sink"]["numOutputRows"] <= 50


def test_the_python_of_the_guide_of_tables_writes_a_table_and_a_topic(
    here: Here, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REGISTRY_CREDENTIALS", "reader:secret")
    names: dict[str, Any] = {}

    try:
        run_blocks("spark-tables.md", here, names)
    finally:
        names["query"].stop()

    assert names["count"] >= RECORDS
    assert names["value"].subject == "orders-value"
