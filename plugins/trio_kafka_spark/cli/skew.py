"""`trio-kafka spark skew`: partitions and keys that hold more than their share."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.skew import skew_of_keys, skew_of_partitions


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    parser.add_argument("--keys", action="store_true", help="keys instead of partitions")
    parser.add_argument(
        "--most", type=int, default=20, metavar="NUMBER", help="keys of each topic (%(default)d)"
    )
    declare_output(parser)


def skew(*, keys: bool, most: int, master: str | None, **arguments: Any) -> int:
    """Show how evenly partitions are filled (--path), or which keys have most records (--keys)."""
    source = Input.taken(arguments)
    reading = source.records() if keys else source.view("segments")

    def job(spark: SparkSession) -> int:
        frame = reading.load(spark)
        show(skew_of_keys(frame, most) if keys else skew_of_partitions(frame), **arguments)
        return 0

    return run_job("spark skew", master, job)
