"""Count the words of a topic continuously, into another topic.

    python examples/spark/word_count.py --sample

`--sample` writes sentences first, and some more each second. The counts go to the topic
`word-counts`: the word is the key, its count so far the value.
"""

import argparse
import os
from collections.abc import Mapping, Sequence
from functools import partial

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from trio_kafka_spark.session import session

SENTENCES = (
    "the broker is a tree of tasks",
    "every task has a parent and the parent waits for the task",
    "a topic is a log and a log is a sequence of records",
    "the query reads the log and counts the words",
)


def count_words(sentences: DataFrame) -> DataFrame:
    """Return the columns key and value of a record for each word."""
    words = sentences.select(f.explode(f.split(f.lower("value"), r"\W+")).alias("key"))
    counts = words.where("key != ''").groupBy("key").count()
    return counts.select("key", f.col("count").cast("string").alias("value"))


def sentence(number: str) -> str:
    """Return an expression in SQL: one of the sentences, by the number of a row."""
    texts = ", ".join(f"'{text}'" for text in SENTENCES)
    return f"element_at(array({texts}), cast({number} % {len(SENTENCES)} as int) + 1) as value"


def write(options: Mapping[str, str], counts: DataFrame, batch_id: int) -> None:
    """Write a batch of counts, at least once: of one word the last count is right."""
    del batch_id
    counts.write.format("trio-kafka").options(**options).mode("append").save()


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until it is stopped; with --once, to the end of the topic."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--bootstrap", default=os.environ.get("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    )
    parser.add_argument("--topic", default="words")
    parser.add_argument("--out", default="word-counts")
    parser.add_argument("--checkpoint", default="checkpoints")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--sample", action="store_true")
    parsed = parser.parse_args(arguments)
    spark = session("word-count")
    kafka = {"kafka.bootstrap.servers": parsed.bootstrap}
    if parsed.sample:
        write_sample(spark, kafka, parsed)
    words = (
        spark.readStream.format("trio-kafka")
        .options(**kafka, subscribe=parsed.topic, startingOffsets="earliest")
        .load()
    )
    # A Python sink takes no updates (Spark 4.3), but each batch of them can be written by itself.
    query = (
        count_words(words.selectExpr("cast(value as string) as value"))
        .writeStream.foreachBatch(partial(write, {**kafka, "topic": parsed.out}))
        .option("checkpointLocation", f"{parsed.checkpoint}/word-count")
        .outputMode("update")
        .queryName("word count")
        .trigger(**({"availableNow": True} if parsed.once else {"processingTime": "2 seconds"}))
        .start()
    )
    query.awaitTermination()


def write_sample(spark: SparkSession, kafka: dict[str, str], parsed: argparse.Namespace) -> None:
    """Write sentences to the topic; without --once, go on in a query of its own."""
    options = {**kafka, "topic": parsed.topic}
    spark.range(100).selectExpr(sentence("id")).write.format("trio-kafka").options(**options).mode(
        "append"
    ).save()
    if not parsed.once:
        (
            spark.readStream.format("rate")
            .option("rowsPerSecond", 5)
            .load()
            .selectExpr(sentence("value"))
            .writeStream.format("trio-kafka")
            .options(**options)
            .option("checkpointLocation", f"{parsed.checkpoint}/sentences")
            .queryName("sentences")
            .start()
        )


if __name__ == "__main__":
    main()
