"""Count the words of one topic into another."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, explode, lower, split


def counts(lines: DataFrame) -> DataFrame:
    """Return the columns `word` and `count` for lines in the column `value`."""
    words = lines.select(explode(split(lower(col("value").cast("string")), r"\W+")).alias("word"))
    return words.where("word != ''").groupBy("word").count()


def count_topic(
    spark: SparkSession, kafka: str, *, source: str, target: str, checkpoint: str
) -> None:
    """Count all present records of topic `source` into topic `target`, batch by batch."""
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
