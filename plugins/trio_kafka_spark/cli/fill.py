"""`trio-kafka spark fill`: how full batches are, and what compression saves."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.fill import batch_fill


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=False)
    declare_output(parser)


def fill(*, master: str | None, **arguments: Any) -> int:
    """Show records and bytes of a batch and the compression ratio, by topic and codec."""
    reading = Input.taken(arguments).view("batches", uncompressed="true")

    def job(spark: SparkSession) -> int:
        show(batch_fill(reading.load(spark)), **arguments)
        return 0

    return run_job("spark fill", master, job)
