"""Backfill a topic: keep a topic as a Delta table, and write a part of it to another topic.

    python examples/spark/backfill.py --sample --where "offset >= 10"

The first step brings the table up to date: each record once, however often this is run. The second
writes the rows of the table that match `--where` (SQL) to the topic `orders-again`, with their
keys, timestamps and headers, for a consumer that must read them again or for the first time.
"""

import argparse
import os
from collections.abc import Sequence

from pyspark.sql import SparkSession

from trio_kafka_spark.lake import table_to_topic, topic_to_table
from trio_kafka_spark.session import session


def main(arguments: Sequence[str] | None = None) -> None:
    """Bring the table up to date, write a part of it to a topic, and end."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--bootstrap", default=os.environ.get("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    )
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--out", default="orders-again")
    parser.add_argument("--table", default="tables/orders")
    parser.add_argument("--where", default="true")
    parser.add_argument("--records-per-second", type=float, help="a rate (default: any)")
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args(arguments)
    spark = session("backfill")
    kafka = {"kafka.bootstrap.servers": options.bootstrap}
    if options.sample:
        write_sample(spark, {**kafka, "topic": options.topic})
    query = topic_to_table(
        spark, {**kafka, "subscribe": options.topic}, options.table, lag=None, headers=True
    )
    query.awaitTermination()
    written = table_to_topic(
        spark,
        options.table,
        kafka,
        topic=options.out,
        where=options.where,
        records_per_second=options.records_per_second,
    )
    print(f"{written} records written to {options.out}")


def write_sample(spark: SparkSession, options: dict[str, str]) -> None:
    """Write orders to the topic."""
    orders = (
        spark.range(20)
        .coalesce(1)
        .selectExpr("cast(id % 3 as string) as key", "concat('order ', id) as value")
    )
    orders.write.format("trio-kafka").options(**options).mode("append").save()


if __name__ == "__main__":
    main()
