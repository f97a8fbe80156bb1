"""Keep a Delta table up to date from a topic of changes, each applied once (change data capture).

    python examples/spark/cdc_to_table.py --sample --once --table tables/customers

A change is JSON: {"op": "c", "id": 1, "name": "Ann", "city": "Bonn"}, with op c (create), u
(update) or d (delete). For each id the change with the highest offset counts, so all changes of an
id must be in one partition: the id is the key. A batch is one transaction of the table, which names
the batch; a batch that is repeated after a crash changes nothing.
"""

import argparse
import os
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as f

from trio_kafka_spark.session import session

CHANGE = "op string, id long, name string, city string"
TABLE = pa.schema([("id", pa.int64()), ("name", pa.string()), ("city", pa.string())])
APP = "cdc-to-table"
SAMPLE = (
    ("c", 1, "Ann", "Bonn"),
    ("c", 2, "Bob", "Kiel"),
    ("u", 1, "Ann", "Rome"),
    ("c", 3, "Eve", "Oslo"),
    ("d", 2, None, None),
)


def last_changes(changes: DataFrame) -> DataFrame:
    """Return the last change of each id."""
    newest = Window.partitionBy("id").orderBy(f.col("offset").desc())
    numbered = changes.where("id is not null").withColumn("nth", f.row_number().over(newest))
    return numbered.where("nth = 1").select("op", "id", "name", "city")


def apply(path: str, batch: DataFrame, batch_id: int) -> None:
    """Apply one batch to the table, unless it has been applied."""
    if not DeltaTable.is_deltatable(path):
        Path(path).mkdir(parents=True, exist_ok=True)
        write_deltalake(path, TABLE.empty_table())
    table = DeltaTable(path)
    applied = table.transaction_version(APP)
    if applied is not None and applied >= batch_id:
        return
    changes = last_changes(batch).toArrow()
    if not changes.num_rows:
        return
    row = {name: f"source.{name}" for name in TABLE.names}
    (
        table.merge(
            changes,
            "target.id = source.id",
            source_alias="source",
            target_alias="target",
            commit_properties=CommitProperties(app_transactions=[Transaction(APP, batch_id)]),
        )
        .when_matched_delete(predicate="source.op = 'd'")
        .when_matched_update(updates=row, predicate="source.op != 'd'")
        .when_not_matched_insert(updates=row, predicate="source.op != 'd'")
        .execute()
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Run until it is stopped; with --once, to the end of the topic."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument(
        "--bootstrap", default=os.environ.get("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
    )
    parser.add_argument("--topic", default="customer-changes")
    parser.add_argument("--table", default="tables/customers")
    parser.add_argument("--checkpoint", default="checkpoints")
    parser.add_argument("--once", action="store_true")
    parser.add_argument("--sample", action="store_true")
    options = parser.parse_args(arguments)
    spark = session("cdc-to-table")
    kafka = {"kafka.bootstrap.servers": options.bootstrap}
    if options.sample:
        write_sample(spark, {**kafka, "topic": options.topic})
    records = (
        spark.readStream.format("trio-kafka")
        .options(**kafka, subscribe=options.topic, startingOffsets="earliest")
        .load()
    )
    change = f.from_json(f.col("value").cast("string"), CHANGE).alias("change")
    query = (
        records.select("offset", change)
        .select("offset", "change.*")
        .writeStream.foreachBatch(partial(apply, options.table))
        .option("checkpointLocation", f"{options.checkpoint}/cdc-to-table")
        .queryName("customers")
        .trigger(**({"availableNow": True} if options.once else {"processingTime": "2 seconds"}))
        .start()
    )
    query.awaitTermination()


def write_sample(spark: SparkSession, options: dict[str, str]) -> None:
    """Write changes to the topic, in their order."""
    rows = spark.createDataFrame(SAMPLE, CHANGE).coalesce(1)
    value = f.to_json(f.struct("op", "id", "name", "city"))
    changes = rows.select(f.col("id").cast("string").alias("key"), value.alias("value"))
    changes.write.format("trio-kafka").options(**options).mode("append").save()


if __name__ == "__main__":
    main()
