"""Turn the clicks of a topic into sessions: clicks of one user less than ten minutes apart.

    python examples/spark/sessionise.py --sample --once

A click is JSON: {"user": "ann", "page": "/cart", "at": "2026-01-01T10:00:00Z"}. A session is
written to the topic `sessions` when it is closed: when a click has arrived that is newer by more
than the gap and five minutes of lateness.
"""

import argparse
import os
from collections.abc import Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as f

from trio_kafka_spark.session import session

GAP = "10 minutes"
LATENESS = "5 minutes"
CLICK = "user string, page string, at timestamp"
SAMPLE = (
    ("ann", "/", "2026-01-01T10:00:00Z"),
    ("bob", "/", "2026-01-01T10:01:00Z"),
    ("ann", "/cart", "2026-01-01T10:04:00Z"),
    ("ann", "/paid", "2026-01-01T10:09:00Z"),
    ("ann", "/", "2026-01-01T11:00:00Z"),
    ("nobody", "/", "2026-01-01T12:00:00Z"),
)


def sessions_of(clicks: DataFrame) -> DataFrame:
    """Return the columns key and value of a record for each session."""
    windows = (
        clicks.where("user is not null and at is not null")
        .withWatermark("at", LATENESS)
        .groupBy("user", f.session_window("at", GAP).alias("session"))
        .agg(f.count("*").alias("clicks"), f.collect_list("page").alias("pages"))
    )
    value = f.struct(
        "user",
        f.col("session.start").alias("start"),
        f.col("session.end").alias("end"),
        "clicks",
        "pages",
    )
    return windows.select(f.col("user").alias("key"), f.to_json(value).alias("value"))


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until it is stopped; with --once, to the end of the topic."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--bootstrap", default=os.environ.get("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    )
    parser.add_argument("--topic", default="clicks")
    parser.add_argument("--out", default="sessions")
    parser.add_argument("--checkpoint", default="checkpoints")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args(arguments)
    spark = session("sessionise")
    kafka = {"kafka.bootstrap.servers": options.bootstrap}
    if options.sample:
        write_sample(spark, {**kafka, "topic": options.topic})
    records = (
        spark.readStream.format("trio-kafka")
        .options(**kafka, subscribe=options.topic, startingOffsets="earliest")
        .load()
    )
    click = f.from_json(f.col("value").cast("string"), CLICK)
    query = (
        sessions_of(records.select(click.alias("click")).select("click.*"))
        .writeStream.format("trio-kafka")
        .options(**kafka, topic=options.out)
        .option("checkpointLocation", f"{options.checkpoint}/sessionise")
        .outputMode("append")
        .queryName("sessions")
        .trigger(**({"availableNow": True} if options.once else {"processingTime": "2 seconds"}))
        .start()
    )
    query.awaitTermination()


def write_sample(spark: SparkSession, options: dict[str, str]) -> None:
    """Write clicks to the topic."""
    rows = spark.createDataFrame(SAMPLE, "user string, page string, at string")
    value = f.to_json(f.struct("user", "page", "at"))
    clicks = rows.select(f.col("user").alias("key"), value.alias("value"))
    clicks.write.format("trio-kafka").options(**options).mode("append").save()


if __name__ == "__main__":
    main()
