from pathlib import Path
from typing import TYPE_CHECKING

import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

import pyarrow as pa
from deltalake import write_deltalake

from tests.trio_kafka_spark.lake.test_to_table import produce, where
from tests.trio_kafka_spark.topics import create_topic, read_topic
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.lake import Json, read_table, table_to_topic, topic_to_table

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark


def test_a_topic_restored_from_a_table_has_the_same_records(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    topic, path = "restore", str(tmp_path / "table")
    create_topic(shared_broker.bootstrap, topic, 3)
    create_topic(shared_broker.bootstrap, f"{topic}-again", 3)
    values = [None if number == 7 else str(number).encode() for number in range(300)]
    produce(shared_broker.bootstrap, topic, *values, partitions=3)
    options = where(shared_broker, topic)
    topic_to_table(spark, options, path, lag=None, headers=True).awaitTermination()

    count = table_to_topic(
        spark,
        path,
        {"kafka.bootstrap.servers": shared_broker.bootstrap},
        topic=f"{topic}-again",
        keep_partitions=True,
    )

    def rows_of(name: str) -> list[object]:
        return [
            (
                record.partition(),
                record.offset(),
                record.key(),
                record.value(),
                record.headers(),
                record.timestamp(),
            )
            for record in read_topic(shared_broker.bootstrap, name)
        ]

    assert count == 300
    assert rows_of(f"{topic}-again") == rows_of(topic)


def test_parsed_rows_that_match_a_condition_are_written_as_json(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "back-json", 1)
    produce(
        shared_broker.bootstrap,
        "back-json",
        *[f'{{"id": {number}, "x": {{"y": [{number}]}}}}'.encode() for number in range(5)],
        partitions=1,
    )
    path = str(tmp_path / "table")
    value = Json(schema="id BIGINT, x STRUCT<y: ARRAY<INT>>")
    topic_to_table(
        spark, where(shared_broker, "back-json"), path, value=value, lag=None
    ).awaitTermination()
    to = {"kafka.bootstrap.servers": shared_broker.bootstrap}

    some = table_to_topic(spark, path, to, topic="back-json-2", where="id >= 3")
    keyed = table_to_topic(
        spark, path, to, topic="back-json-3", value="CAST(id AS STRING)", key="'k'", version=1
    )

    result = read_topic(shared_broker.bootstrap, "back-json-2")
    assert some == 2
    assert [message.value() for message in result] == [
        b'{"id":3,"x":{"y":[3]}}',
        b'{"id":4,"x":{"y":[4]}}',
    ]
    assert keyed == 5
    assert {message.key() for message in read_topic(shared_broker.bootstrap, "back-json-3")} == {
        b"k"
    }


def test_a_replay_of_a_table_keeps_the_given_rate(
    spark: "SparkSession", shared_broker: BrokerProcess, tmp_path: Path
) -> None:
    create_topic(shared_broker.bootstrap, "paced", 2)
    produce(shared_broker.bootstrap, "paced", *[str(n).encode() for n in range(150)])
    path = str(tmp_path / "table")
    topic_to_table(spark, where(shared_broker, "paced"), path, lag=None).awaitTermination()

    table_to_topic(
        spark,
        path,
        {"kafka.bootstrap.servers": shared_broker.bootstrap},
        topic="paced-again",
        keep_timestamps=False,
        records_per_second=200,
    )

    result = read_topic(shared_broker.bootstrap, "paced-again")
    times = [record.timestamp()[1] for record in result]
    assert len(result) == 150
    assert max(times) - min(times) > 500  # 150 records at 200 a second


def test_a_missing_table_version_or_column_is_refused_by_name(
    spark: "SparkSession", tmp_path: Path
) -> None:
    to = {"kafka.bootstrap.servers": "127.0.0.1:1"}
    for table in ("delta", "parquet"):
        with pytest.raises(SourceError, match=r"\[LAKE_NO_TABLE\]"):
            read_table(spark, str(tmp_path / "none"), table=table)
    with pytest.raises(OptionError, match="want delta or parquet"):
        read_table(spark, str(tmp_path), table="orc")
    with pytest.raises(OptionError, match="plain Parquet has none"):
        read_table(spark, str(tmp_path), table="parquet", version=1)
    with pytest.raises(OptionError, match="option options: give topic and rate as arguments"):
        table_to_topic(spark, str(tmp_path / "none"), {**to, "topic": "t"})
    write_deltalake(str(tmp_path / "t"), pa.table({"n": [1]}))
    with pytest.raises(OptionError, match=r"option value: the table has no column value; .* n$"):
        table_to_topic(spark, str(tmp_path / "t"), to, topic="t")
    with pytest.raises(OptionError, match="option topic: the table has no column topic"):
        table_to_topic(spark, str(tmp_path / "t"), to, value="CAST(n AS STRING)")
