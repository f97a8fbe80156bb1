import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from confluent_kafka import Producer
from deltalake import DeltaTable

from tests.trio_kafka_spark.lake.test_avro import ORDER, encoded, in_wire_format
from tests.trio_kafka_spark.lake.test_registry import registry_with, schema_answer
from tests.trio_kafka_spark.topics import create_topic
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.lake import Avro, Json, Raw, RegistrySettings, read_table, topic_to_table
from trio_kafka_spark.lake.to_table import local_path, query_id

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def produce(bootstrap: str, topic: str, *values: bytes | None, partitions: int = 2) -> None:
    producer = Producer({"bootstrap.servers": bootstrap})
    for number, value in enumerate(values):
        producer.produce(
            topic, value, b"k", partition=number % partitions, headers=[("h", str(number).encode())]
        )
    assert producer.flush(30) == 0


def where(broker: BrokerProcess, topic: str, **options: str) -> dict[str, str]:
    return {"kafka.bootstrap.servers": broker.bootstrap, "subscribe": topic, **options}


def test_the_query_id_of_a_checkpoint_does_not_change(tmp_path: Path) -> None:
    assert query_id(tmp_path / "a") == query_id(tmp_path / "a")
    assert query_id(tmp_path / "a") != query_id(tmp_path / "b")


@pytest.mark.parametrize("path", ["s3://bucket/t", "hdfs://host/t", "gs://b/t"])
def test_paths_of_object_stores_are_refused(path: str) -> None:
    with pytest.raises(OptionError, match="is not on a file system"):
        local_path("path", path)


def test_file_urls_and_relative_paths_become_absolute_paths() -> None:
    assert local_path("path", "file:///a/b") == Path("/a/b")
    assert local_path("path", "file:/a/b") == Path("/a/b")
    assert local_path("path", "a") == Path("a").absolute()


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"table": "iceberg"}, "option table: 'iceberg': want delta or parquet"),
        ({"lag": "soon"}, "lag target 'soon'"),
        ({"value": Json(schema="id NONSENSE")}, "option schema"),
        ({"value": Avro(schema="long")}, "No such file"),
    ],
)
@pytest.mark.spark
def test_wrong_arguments_are_refused_before_a_table_is_created(
    spark: "SparkSession", tmp_path: Path, arguments: dict[str, Any], reason: str
) -> None:
    options = {"kafka.bootstrap.servers": "127.0.0.1:1", "subscribe": "t"}

    with pytest.raises(ValueError, match=reason):
        topic_to_table(spark, options, str(tmp_path / "table"), **arguments)

    assert not (tmp_path / "table" / "_delta_log").exists()


@pytest.mark.spark
@pytest.mark.parametrize("table", ["delta", "parquet"])
def test_each_record_is_in_the_table_once_over_restarts(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path, table: str
) -> None:
    topic, path = f"lake-{table}", str(tmp_path / "table")
    create_topic(shared_broker.bootstrap, topic, 2)
    produce(shared_broker.bootstrap, topic, *[str(number).encode() for number in range(100)])
    options = where(shared_broker, topic, maxOffsetsPerTrigger="60")
    for _ in range(2):  # two batches; the second run replays the last of them
        query = topic_to_table(spark, options, path, table=table, lag=None, headers=True)
        query.awaitTermination()
        forget_last_commit(tmp_path / "table" / "_checkpoint")

    rows = read_table(spark, path, table=table).collect()
    assert sorted(int(row["value"]) for row in rows) == list(range(100))
    assert len({(row["partition"], row["offset"]) for row in rows}) == 100
    assert {row["topic"] for row in rows} == {topic}
    assert {bytes(row["key"]) for row in rows} == {b"k"}
    assert all(int(row["headers"][0]["value"]) == int(row["value"]) for row in rows)


def forget_last_commit(checkpoint: Path) -> None:
    """As if the driver had died after the table's commit, and before Spark's."""
    commits = checkpoint / "commits"
    last = max(
        (path for path in commits.iterdir() if path.name.isdigit()), key=lambda p: int(p.name)
    )
    last.unlink()
    (commits / f".{last.name}.crc").unlink(missing_ok=True)


@pytest.mark.spark
def test_json_values_become_columns_and_invalid_values_become_dead_letters(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "lake-json", 1)
    good = {"id": 1, "at": {"x": [1, 2]}, "value": "v", "error": "e", "other": 5}
    values = [
        json.dumps(good).encode(),
        b"{",
        b"[1]",
        b'{"id": "text"}',
        b'{"value": "no id"}',
        None,
        b"",
        b"\xff\xfe",
        b'{"id": 2}',
    ]
    produce(shared_broker.bootstrap, "lake-json", *values, partitions=1)
    schema = "id BIGINT NOT NULL, at STRUCT<x: ARRAY<INT>>, value STRING, error STRING"
    query = topic_to_table(
        spark,
        where(shared_broker, "lake-json"),
        str(tmp_path / "table"),
        value=Json(schema=schema),
        lag=None,
    )
    query.awaitTermination()

    rows = {
        row["kafka_offset"]: row for row in read_table(spark, str(tmp_path / "table")).collect()
    }
    dead = DeltaTable(f"{tmp_path / 'table'}_dead_letters").to_pyarrow_table().to_pylist()
    assert sorted(rows) == [0, 5, 8]
    assert rows[0].asDict(recursive=True) | {"kafka_timestamp": None, "kafka_key": None} == {
        "id": 1,
        "at": {"x": [1, 2]},
        "value": "v",
        "error": "e",
        "kafka_key": None,
        "kafka_topic": "lake-json",
        "kafka_partition": 0,
        "kafka_offset": 0,
        "kafka_timestamp": None,
    }
    assert (rows[5]["id"], rows[8]["id"]) == (None, 2)
    by_offset = {row["offset"]: row for row in dead}
    assert {offset: row["value"] for offset, row in by_offset.items()} == {
        1: b"{",
        2: b"[1]",
        3: b'{"id": "text"}',
        4: b'{"value": "no id"}',
        6: b"",
        7: b"\xff\xfe",
    }
    assert by_offset[4]["error"] == "field id is missing, null or of another type"
    assert "no JSON object of this schema: struct<id:bigint" in by_offset[1]["error"]


@pytest.mark.spark
def test_avro_values_are_parsed_with_schemas_of_a_registry(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "lake-avro", 1)
    older = {**ORDER, "fields": ORDER["fields"][:1]}
    values = [
        in_wire_format(1, encoded(older, {"id": 5})),
        in_wire_format(2, encoded(ORDER, {"id": 6, "note": "n"})),
        in_wire_format(9, b"unknown schema"),
        b"no magic",
    ]
    produce(shared_broker.bootstrap, "lake-avro", *values, partitions=1)
    answers = {
        "/schemas/ids/1": schema_answer(older),
        "/schemas/ids/2": schema_answer(ORDER),
        "/subjects/lake-avro-value/versions/latest": schema_answer(ORDER),
    }
    with registry_with(answers) as served:
        value = Avro(registry=RegistrySettings(url=served.url), subject="lake-avro-value")
        topic_to_table(
            spark,
            where(shared_broker, "lake-avro"),
            str(tmp_path / "table"),
            value=value,
            dead_letters=str(tmp_path / "bad"),
            lag=None,
        ).awaitTermination()
        assert served.requested_paths.count("/schemas/ids/1") == 1

    rows = read_table(spark, str(tmp_path / "table")).orderBy("kafka_offset").collect()
    dead = DeltaTable(str(tmp_path / "bad")).to_pyarrow_table().sort_by("offset").to_pylist()
    assert [(row["id"], row["note"]) for row in rows] == [(5, None), (6, "n")]
    assert ["schemas/ids/9" in row["error"] for row in dead] == [True, False]


@pytest.mark.spark
def test_a_new_field_becomes_a_column_and_a_changed_type_is_refused(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "lake-evolved", 1)
    path = str(tmp_path / "table")
    for schema in ("id BIGINT", "id BIGINT, name STRING"):
        produce(shared_broker.bootstrap, "lake-evolved", b'{"id": 1, "name": "n"}', partitions=1)
        topic_to_table(
            spark, where(shared_broker, "lake-evolved"), path, value=Json(schema=schema), lag=None
        ).awaitTermination()

    result = read_table(spark, path).orderBy("kafka_offset").select("id", "name").collect()
    assert [tuple(row) for row in result] == [(1, None), (1, "n")]
    with pytest.raises(SourceError, match="column id is long, the query writes string"):
        topic_to_table(
            spark,
            where(shared_broker, "lake-evolved"),
            path,
            value=Json(schema="id STRING"),
            lag=None,
        )


@pytest.mark.spark
def test_a_lag_target_sets_the_trigger_and_the_batch_size(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "lake-lag", 1)
    produce(shared_broker.bootstrap, "lake-lag", *[b"v"] * 15, partitions=1)
    query = topic_to_table(
        spark,
        where(shared_broker, "lake-lag"),
        str(tmp_path / "table"),
        value=Raw(),
        lag="1s",
        records_per_second=20,
    )
    query.processAllAvailable()
    batches = [progress.numInputRows for progress in query.recentProgress if progress.numInputRows]
    query.stop()

    assert batches == [10, 5]
