"""The writers: called directly with Arrow batches, and a few times by Spark itself."""

import json
import pickle
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from tests.trio_kafka_spark.topics import create_topic, read_topic
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.data_source import TrioKafkaDataSource
from trio_kafka_spark.sink.partitioner import key_partitions
from trio_kafka_spark.sink.writer import Pacer, StreamWriter, Written, batch_writer, stream_writer

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def schema(**types: str) -> Any:
    return SimpleNamespace(
        fields=[
            SimpleNamespace(
                name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind)
            )
            for name, kind in types.items()
        ]
    )


def batches(first: int, *sizes: int) -> list[pa.RecordBatch]:
    result = []
    for size in sizes:
        numbers = range(first, first + size)
        result.append(
            pa.RecordBatch.from_pydict(
                {
                    "key": [None if number % 5 == 0 else f"k{number % 97}" for number in numbers],
                    "value": [str(number) for number in numbers],
                }
            )
        )
        first += size
    return result


def values_of(bootstrap: str, topic: str) -> list[int]:
    return sorted(int(message.value()) for message in read_topic(bootstrap, topic))


def test_a_task_writes_all_rows_and_reports_the_last_offsets(shared_broker: BrokerProcess) -> None:
    create_topic(shared_broker.bootstrap, "writer-1", 3)
    options = {"kafka.bootstrap.servers": shared_broker.bootstrap, "topic": "writer-1"}
    writer = batch_writer(options, schema(key="string", value="string"), overwrite=False)
    task = pickle.loads(pickle.dumps(writer))

    written = pickle.loads(pickle.dumps(task.write(iter(batches(0, 1000, 1, 3000)))))
    writer.commit([written])

    assert isinstance(written, Written)
    assert written.rows == 4001
    assert sum(written.last_offsets.values()) == 4001 - 3
    assert values_of(shared_broker.bootstrap, "writer-1") == list(range(4001))


def test_keyed_records_are_written_to_the_partition_of_their_key(
    shared_broker: BrokerProcess,
) -> None:
    create_topic(shared_broker.bootstrap, "writer-keys", 5)
    options = {"kafka.bootstrap.servers": shared_broker.bootstrap, "topic": "writer-keys"}
    batch_writer(options, schema(value="string"), overwrite=False).write(iter(batches(0, 900)))

    for message in read_topic(shared_broker.bootstrap, "writer-keys"):
        if message.key() is not None:
            (want,) = key_partitions(pa.array([message.key()]), 5).tolist()
            assert message.partition() == want


def test_records_without_keys_change_partition_after_each_batch(
    shared_broker: BrokerProcess,
) -> None:
    create_topic(shared_broker.bootstrap, "writer-sticky", 3)
    options = {
        "kafka.bootstrap.servers": shared_broker.bootstrap,
        "kafka.batch.size": "1000",
        "topic": "writer-sticky",
    }
    rows = pa.RecordBatch.from_pydict({"value": ["x" * 20] * 300})

    batch_writer(options, schema(value="string"), overwrite=False).write(iter([rows]))

    counts = Counter(
        message.partition() for message in read_topic(shared_broker.bootstrap, "writer-sticky")
    )
    assert set(counts) == {0, 1, 2}
    assert max(counts.values()) - min(counts.values()) <= 50


def test_a_task_without_rows_writes_nothing(shared_broker: BrokerProcess) -> None:
    options = {"kafka.bootstrap.servers": shared_broker.bootstrap, "topic": "writer-none"}

    written = stream_writer(options, schema(value="string")).write(iter([]))

    assert written == Written(rows=0)


def test_a_null_topic_fails_the_task(shared_broker: BrokerProcess) -> None:
    options = {"kafka.bootstrap.servers": shared_broker.bootstrap}
    writer = batch_writer(options, schema(value="string", topic="string"), overwrite=False)
    rows = pa.RecordBatch.from_pydict({"value": ["v"], "topic": pa.nulls(1, pa.string())})

    with pytest.raises(SourceError, match=r"\[KAFKA_NULL_TOPIC_IN_DATA\]"):
        writer.write(iter([rows]))


def test_wrong_columns_options_and_modes_are_refused_before_a_task_runs() -> None:
    options = {"kafka.bootstrap.servers": "localhost:1", "topic": "t"}
    source = TrioKafkaDataSource(options)

    with pytest.raises(SourceError, match=r"\[_LEGACY_ERROR_TEMP_3080\] value attribute"):
        source.writer(schema(value="bigint"), overwrite=False)
    with pytest.raises(SourceError, match=r"\[_LEGACY_ERROR_TEMP_3081\] Save mode overwrite"):
        source.writer(schema(value="string"), overwrite=True)
    with pytest.raises(OptionError, match="exactlyOnce"):
        TrioKafkaDataSource({**options, "exactlyOnce": "maybe"}).streamWriter(
            schema(value="string"), overwrite=False
        )
    assert isinstance(source.streamWriter(schema(value="string"), overwrite=True), StreamWriter)


def test_the_text_of_a_writer_holds_no_password() -> None:
    options = {
        "kafka.bootstrap.servers": "localhost:1",
        "topic": "t",
        "kafka.security.protocol": "SASL_PLAINTEXT",
        "kafka.sasl.mechanism": "PLAIN",
        "kafka.sasl.jaas.config": (
            "org.apache.kafka.common.security.plain.PlainLoginModule required"
            ' username="u" password="s3cr3t";'
        ),
    }

    writer = batch_writer(options, schema(value="string"), overwrite=False)

    assert "s3cr3t" not in repr(writer.options)


def test_paced_rows_are_sent_at_the_given_rate() -> None:
    time = 100.0
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal time
        waits.append(seconds)
        time += seconds

    pacer = Pacer(1000, now=lambda: time, sleep=sleep)
    sizes = [batch.num_rows for batch in pacer.paced(batches(0, 250, 500))]

    assert sizes == [100, 100, 50, 100, 100, 100, 100, 100]
    assert sum(waits) == pytest.approx(0.65)  # the rows before the last slice, at 1000 a second


def test_a_slow_task_does_not_catch_up_in_a_burst() -> None:
    time = 0.0
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        nonlocal time
        waits.append(seconds)
        time += seconds

    paced = Pacer(1000, now=lambda: time, sleep=sleep).paced(batches(0, 1000))
    next(paced)
    time += 60.0  # the first write took a minute
    assert sum(1 for _ in paced) == 9

    assert sum(waits) == pytest.approx(0.7, abs=0.11)


@pytest.mark.spark
def test_a_written_batch_is_read_by_the_official_connector(
    spark: "SparkSession", shared_broker: BrokerProcess
) -> None:
    create_topic(shared_broker.bootstrap, "spark-batch", 3)
    rows = spark.range(5000).selectExpr(
        "CAST(id AS STRING) AS value",
        "CAST(CONCAT('k', id % 71) AS BINARY) AS key",
        "array(named_struct('key', 'h', 'value', CAST(id AS STRING))) AS text",
        "array(named_struct('key', 'h', 'value', CAST(CAST(id AS STRING) AS BINARY))) AS headers",
        "id AS other",
    )
    rows.write.format("trio-kafka").option(
        "kafka.bootstrap.servers", shared_broker.bootstrap
    ).option("kafka.compression.type", "zstd").option("topic", "spark-batch").mode("append").save()

    result = (
        spark.read.format("kafka")
        .option("kafka.bootstrap.servers", shared_broker.bootstrap)
        .option("subscribe", "spark-batch")
        .option("includeHeaders", "true")
        .load()
        .selectExpr(
            "CAST(value AS STRING) AS value",
            "CAST(key AS STRING) AS key",
            "headers[0].key AS name",
            "CAST(headers[0].value AS STRING) AS header",
            "partition",
        )
        .collect()
    )
    messages = read_topic(shared_broker.bootstrap, "spark-batch")

    assert sorted(int(row["value"]) for row in result) == list(range(5000))
    assert all(row["name"] == "h" and row["header"] == row["value"] for row in result)
    assert all(row["key"] == f"k{int(row['value']) % 71}" for row in result)
    assert {row["value"]: row["partition"] for row in result} == {
        message.value().decode(): message.partition() for message in messages
    }


@pytest.mark.spark
def test_keys_are_written_to_the_partitions_of_the_official_connector(
    spark: "SparkSession", shared_broker: BrokerProcess
) -> None:
    rows = spark.range(500).selectExpr(
        "CAST(id AS STRING) AS value", "repeat('x', CAST(id % 50 AS INT)) AS key"
    )
    result = {}
    for name in ("kafka", "trio-kafka"):
        create_topic(shared_broker.bootstrap, f"by-{name}", 6)
        rows.write.format(name).option("kafka.bootstrap.servers", shared_broker.bootstrap).option(
            "topic", f"by-{name}"
        ).mode("append").save()
        messages = read_topic(shared_broker.bootstrap, f"by-{name}")
        result[name] = {message.value(): message.partition() for message in messages}

    assert len(result["kafka"]) == 500
    assert result["kafka"] == result["trio-kafka"]


@pytest.mark.spark
def test_a_restart_of_a_written_stream_adds_no_records(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    source, target = tmp_path / "in", tmp_path / "checkpoint"
    spark.range(700).selectExpr("CAST(id AS STRING) AS value").write.json(str(source))
    create_topic(shared_broker.bootstrap, "spark-stream", 2)
    for _ in range(2):
        query = (
            spark.readStream.schema("value STRING")
            .json(str(source))
            .writeStream.format("trio-kafka")
            .option("kafka.bootstrap.servers", shared_broker.bootstrap)
            .option("topic", "spark-stream")
            .option("checkpointLocation", str(target))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()

    assert values_of(shared_broker.bootstrap, "spark-stream") == list(range(700))


@pytest.mark.spark
def test_complete_mode_writes_each_update_of_an_aggregation(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    spark.range(10).selectExpr("id % 2 AS k").write.json(str(tmp_path / "in"))
    query = (
        spark.readStream.schema("k LONG")
        .json(str(tmp_path / "in"))
        .groupBy("k")
        .count()
        .selectExpr("to_json(struct(k, count)) AS value")
        .writeStream.format("trio-kafka")
        .outputMode("complete")
        .option("kafka.bootstrap.servers", shared_broker.bootstrap)
        .option("topic", "spark-complete")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()

    result = [
        json.loads(record.value())
        for record in read_topic(shared_broker.bootstrap, "spark-complete")
    ]
    assert sorted((row["k"], row["count"]) for row in result) == [(0, 5), (1, 5)]


@pytest.mark.spark
@pytest.mark.parametrize(
    ("select", "options", "mode", "reason"),
    [
        (["id AS value"], {"topic": "t"}, "append", "[_LEGACY_ERROR_TEMP_3080] value attribute"),
        (["'v' AS value"], {}, "append", "[_LEGACY_ERROR_TEMP_3080] topic option required"),
        (["'v' AS value"], {"topic": "t"}, "overwrite", "[_LEGACY_ERROR_TEMP_3081] Save mode"),
        (["'v' AS value", "CAST(NULL AS STRING) AS topic"], {}, "append", "[KAFKA_NULL_TOPIC_IN"),
        (["'v' AS value"], {"topic": "t", "exactlyOnce": "1"}, "append", "option exactlyOnce"),
        (["'v' AS value"], {"topic": "t", "topci": "u"}, "append", "did you mean topic?"),
    ],
)
def test_a_refused_write_shows_condition_and_reason_in_spark(
    spark: "SparkSession",
    shared_broker: BrokerProcess,
    select: list[str],
    options: dict[str, str],
    mode: str,
    reason: str,
) -> None:
    writer = spark.range(3).selectExpr(*select).write.format("trio-kafka").mode(mode)
    writer = writer.option("kafka.bootstrap.servers", shared_broker.bootstrap).options(**options)

    with pytest.raises(Exception) as caught:
        writer.save()

    assert reason in str(caught.value)
