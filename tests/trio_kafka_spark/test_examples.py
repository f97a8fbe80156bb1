"""The programs of examples/spark: each is run as it stands, on its own sample."""

import importlib.util
import json
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

import pytest

from tests.project.tree import ROOT
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_builtin.pipelines.definition import read_definition

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EXAMPLES = ROOT / "examples" / "spark"
NO_DATA = "spark.sql.streaming.noDataMicroBatches.enabled"
PROGRAMS = ("backfill", "cdc_to_table", "sessionise", "word_count")


def load(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def records(spark: "SparkSession", broker: BrokerProcess, topic: str) -> list[tuple[str, str]]:
    """Keys and values of a topic, in the order of offsets: it has one partition."""
    rows = (
        spark.read.format("trio-kafka")
        .options(**{"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic})
        .load()
        .orderBy("offset")
        .selectExpr("cast(key as string) as key", "cast(value as string) as value")
    )
    return [(row.key, row.value) for row in rows.collect()]


@pytest.fixture
def words(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> Iterator[list[str]]:
    """Where the broker is. The session is the suite's, with Spark's default for empty batches."""
    before = spark.conf.get(NO_DATA)
    spark.conf.set(NO_DATA, "true")
    yield ["--bootstrap", shared_broker.bootstrap]
    spark.conf.set(NO_DATA, before)


def test_each_example_program_has_a_test() -> None:
    assert sorted(path.stem for path in EXAMPLES.glob("*.py")) == list(PROGRAMS)


def test_the_word_count_definition_of_make_pipeline_is_valid() -> None:
    text = (EXAMPLES / "word_count.toml").read_text()

    assert read_definition("word_count", text, "/x").command[1] == "word_count.py"
    assert tomllib.loads(text)


@pytest.mark.spark
def test_word_count_counts_each_word_over_restarts(
    spark: "SparkSession",
    shared_broker: BrokerProcess,
    words: list[str],
    tmp_path: Path,
    size: Callable[[int, int], int],
) -> None:
    runs = size(1, 2)
    example = load("word_count")
    words += ["--topic", "example-words", "--out", "example-counts", "--once"]
    words += ["--checkpoint", str(tmp_path)]

    for _ in range(runs):
        example.main([*words, "--sample"])

    sentences = [sentence for sentence in example.SENTENCES for _ in range(25 * runs)]
    expected = Counter(word for sentence in sentences for word in sentence.split())
    result = dict(records(spark, shared_broker, "example-counts"))
    assert {word: int(count) for word, count in result.items()} == expected


@pytest.mark.long
@pytest.mark.spark
def test_sessionise_writes_the_sessions_of_each_user(
    spark: "SparkSession", shared_broker: BrokerProcess, words: list[str], tmp_path: Path
) -> None:
    words += ["--topic", "example-clicks", "--out", "example-sessions", "--once"]

    load("sessionise").main([*words, "--checkpoint", str(tmp_path), "--sample"])

    result = [json.loads(value) for _, value in records(spark, shared_broker, "example-sessions")]
    pages = sorted((row["user"], row["pages"]) for row in result)
    assert pages == [("ann", ["/"]), ("ann", ["/", "/cart", "/paid"]), ("bob", ["/"])]


@pytest.mark.long
@pytest.mark.spark
def test_cdc_to_table_applies_changes_to_a_delta_table(
    spark: "SparkSession", words: list[str], tmp_path: Path
) -> None:
    from deltalake import DeltaTable

    example, path = load("cdc_to_table"), str(tmp_path / "customers")
    words += ["--topic", "example-changes", "--table", path, "--once"]
    words += ["--checkpoint", str(tmp_path / "checkpoint")]

    example.main([*words, "--sample"])

    table = DeltaTable(path)
    expected = [{"id": 1, "name": "Ann", "city": "Rome"}, {"id": 3, "name": "Eve", "city": "Oslo"}]
    assert sorted(table.to_pyarrow_table().to_pylist(), key=lambda row: row["id"]) == expected
    version = table.version()
    example.main(words)
    again = spark.createDataFrame([(0, "c", 9, "New", "Here")], "offset long, " + example.CHANGE)
    example.apply(path, again, 0)  # a batch that is repeated after a crash
    assert DeltaTable(path).version() == version


@pytest.mark.long
@pytest.mark.spark
def test_backfill_writes_the_chosen_rows_of_a_table_to_a_topic(
    spark: "SparkSession",
    shared_broker: BrokerProcess,
    words: list[str],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    words += ["--topic", "example-orders", "--out", "example-again", "--where", "offset >= 15"]

    load("backfill").main([*words, "--table", str(tmp_path / "orders"), "--sample"])

    assert capsys.readouterr().out == "5 records written to example-again\n"
    result = records(spark, shared_broker, "example-again")
    assert sorted(value for _, value in result) == [f"order {number}" for number in range(15, 20)]
    assert {key for key, _ in result} == {"0", "1", "2"}
