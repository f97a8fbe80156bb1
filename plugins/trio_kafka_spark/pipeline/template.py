"""Files of `trio-kafka pipeline init`: paths and texts, with @NAME@, @TOPIC@ and @STORAGE@."""

from collections.abc import Mapping
from typing import Final

_SPEC: Final = """\
# A declarative pipeline of Spark: `trio-kafka pipeline run` brings all of its tables up to date.
name: @NAME@
# Checkpoints of the streams: the offsets from which each continues.
storage: @STORAGE@
libraries:
  - glob:
      include: transformations/**
# Settings of the session. Two partitions suit one machine; remove the line on a cluster.
configuration:
  spark.sql.shuffle.partitions: "2"
"""
_TABLES: Final = '''\
"""The tables of this pipeline: each function is one, named as the function is."""

import os

from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import col, count, max

from trio_kafka_spark.progress import post_progress

# `trio-kafka pipeline run --bootstrap HOST:PORT` sets the first one.
BOOTSTRAP = os.environ.get("TRIO_KAFKA_BOOTSTRAP", "127.0.0.1:9092")
TOPIC = os.environ.get("TOPIC", "@TOPIC@")

# Shows the progress of the streams on the broker's page, where its plugin `pipelines` runs this.
post_progress(SparkSession.active())


@dp.table
def records() -> DataFrame:
    """All records of the topic, each once: a run adds those that are new."""
    spark = SparkSession.active()
    return (
        spark.readStream.format("trio-kafka")
        .option("kafka.bootstrap.servers", BOOTSTRAP)
        .option("subscribe", TOPIC)
        .option("startingOffsets", "earliest")
        .load()
    )


@dp.materialized_view
def per_key() -> DataFrame:
    """How many records each key has, and when the last one came: a run computes it anew."""
    rows = SparkSession.active().read.table("records")
    key = col("key").cast("string").alias("key")
    return rows.groupBy(key).agg(count("*").alias("records"), max("timestamp").alias("last"))
'''
_README: Final = """\
# @NAME@

A declarative pipeline of Spark over the topic `@TOPIC@`.

    trio-kafka pipeline run . --bootstrap 127.0.0.1:9092

Tables lie in `spark-warehouse`, their names in `metastore_db`, checkpoints in `pipeline-storage`.
`trio-kafka pipeline run . --dry-run` checks the pipeline and reads no record. Add a function to
`transformations/tables.py`, or a file beside it, for each further table.

A broker runs it every minute when `pipeline.toml` lies, as `@NAME@.toml`, in its
`plugin.pipelines.directory`.
"""
_DEFINITION: Final = """\
# For the broker's plugin `pipelines`: copy this file to plugin.pipelines.directory as @NAME@.toml.
command = ["trio-kafka", "pipeline", "run", "."]
directory = "@DIRECTORY@"
restart = "always"
pause_s = 60
"""
FILES: Final[Mapping[str, str]] = {
    "spark-pipeline.yml": _SPEC,
    "transformations/tables.py": _TABLES,
    "README.md": _README,
    "pipeline.toml": _DEFINITION,
}
