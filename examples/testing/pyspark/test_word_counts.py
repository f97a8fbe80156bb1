from pathlib import Path

from pyspark.sql import SparkSession
from word_counts import count_topic, counts


def test_words_are_counted_without_a_broker(spark: SparkSession) -> None:
    lines = spark.createDataFrame([("one two",), ("Two, two!",)], ["value"])

    found = {row["word"]: row["count"] for row in counts(lines).collect()}

    assert found == {"one": 1, "two": 3}


def test_a_stream_counts_a_topic_into_another(
    spark: SparkSession, kafka: str, tmp_path: Path
) -> None:
    lines = spark.createDataFrame([("to be or not to be",)], ["value"])
    to_kafka = {"kafka.bootstrap.servers": kafka}
    lines.write.format("trio-kafka").options(**to_kafka, topic="lines").mode("append").save()

    count_topic(spark, kafka, "lines", "counts", str(tmp_path / "checkpoint"))

    written = spark.read.format("trio-kafka").options(**to_kafka, subscribe="counts").load()
    rows = written.selectExpr("cast(key as string) as k", "cast(value as string) as v").collect()
    assert {row["k"]: row["v"] for row in rows} == {"to": "2", "be": "2", "or": "1", "not": "1"}
