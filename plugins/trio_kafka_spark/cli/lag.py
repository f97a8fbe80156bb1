"""`trio-kafka spark lag`: how far consumer groups were behind, over time."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any

import attrs
from pyspark.sql import SparkSession
from pyspark.sql import functions as sf

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.lag import OFFSETS_TOPIC, commits, lag_over_time


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=False)
    parser.add_argument(
        "--group", action="append", default=[], help="only this group; may be repeated"
    )
    parser.add_argument(
        "--every", default="1 minute", metavar="DURATION", help="a row for each (%(default)s)"
    )
    declare_output(parser)


def lag(*, group: Sequence[str], every: str, master: str | None, **arguments: Any) -> int:
    """Show the lag of consumer groups over time, from committed offsets and batch headers."""
    source = Input.taken(arguments)
    stored = attrs.evolve(
        source, topic=[OFFSETS_TOPIC], pattern=None, starting_offsets=None, ending_offsets=None
    )

    offsets, batches = stored.records(), source.view("batches")

    def job(spark: SparkSession) -> int:
        committed = commits(offsets.load(spark))
        if group:
            committed = committed.where(sf.col("group").isin(*group))
        if source.topic:
            committed = committed.where(sf.col("topic").isin(*source.topic))
        if source.pattern:
            committed = committed.where(sf.col("topic").rlike(f"^(?:{source.pattern})$"))
        show(lag_over_time(committed, batches.load(spark), every), **arguments)
        return 0

    return run_job("spark lag", master, job)
