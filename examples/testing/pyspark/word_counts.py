"""Counts words: the lines of one topic in, words with their counts to another."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, lower, split


def counts(lines: DataFrame) -> DataFrame:
    """Columns `word` and `count` of lines in column `value`."""
    words = lines.select(explode(split(lower(col("value").cast("string")), r"\W+")).alias("word"))
    return words.where("word != ''").groupBy("word").count()


def count_topic(spark: SparkSession, kafka: str, source: str, target: str, checkpoint: str) -> None:
    """Count what topic `source` holds now, batch by batch, into topic `target`."""
    lines = (
        spark.readStream.format("trio-kafka")
        .option("kafka.bootstrap.servers", kafka)
        .option("subscribe", source)
        .option("startingOffsets", "earliest")
        .load()
    )
    stream = (
        counts(lines)
        .selectExpr("word as key", "cast(count as string) as value")
        .writeStream.format("trio-kafka")
        .option("kafka.bootstrap.servers", kafka)
        .option("topic", target)
        .option("checkpointLocation", checkpoint)
        .outputMode("complete")
        .trigger(availableNow=True)
    )
    stream.start().awaitTermination()
