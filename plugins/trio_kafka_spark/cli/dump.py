"""`trio-kafka spark dump`: records as text."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.dump import dump as dumped


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    declare_output(parser)


def dump(*, master: str | None, **arguments: Any) -> int:
    """Show records, with keys, values and headers as text, in the order of the log."""
    reading = Input.taken(arguments).records(includeHeaders="true")

    def job(spark: SparkSession) -> int:
        show(dumped(reading.load(spark)), **arguments)
        return 0

    return run_job("spark dump", master, job)
