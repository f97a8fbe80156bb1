from pathlib import Path

from pyspark.sql import SparkSession
from word_counts import count_topic, counts

from trio_kafka.testing.kafka.threaded import Kafka


def test_words_are_counted_without_a_broker(spark: SparkSession) -> None:
    lines = spark.createDataFrame([("one two",), ("Two, two!",)], ["value"])

    words = {row["word"]: row["count"] for row in counts(lines).collect()}

    assert words == {"one": 1, "two": 3}


def test_a_stream_counts_a_topic_into_another(
    spark: SparkSession, kafka: Kafka, tmp_path: Path
) -> None:
    kafka.produce("lines", "to be or not to be")

    count_topic(
        spark,
        kafka.bootstrap,
        source="lines",
        target="counts",
        checkpoint=str(tmp_path / "checkpoint"),
    )

    written = {record.key: record.value for record in kafka.records("counts")}
    assert written == {b"to": b"2", b"be": b"2", b"or": b"1", b"not": b"1"}
