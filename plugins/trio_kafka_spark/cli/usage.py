"""`trio-kafka spark usage`: what topics store, or what clients ask for."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.cli.requests import REQUEST_TOPIC, request_log
from trio_kafka_spark.jobs.request_log import parsed
from trio_kafka_spark.jobs.usage import usage_by_client, usage_by_topic


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    parser.add_argument(
        "--clients",
        action="store_true",
        help=f"by client and API, from the request log (--topic {REQUEST_TOPIC})",
    )
    declare_output(parser)


def usage(*, clients: bool, master: str | None, **arguments: Any) -> int:
    """Show bytes and records by topic (--path), or by client and API from the request log."""
    source = Input.taken(arguments)
    reading = request_log(source) if clients else source.view("segments")

    def job(spark: SparkSession) -> int:
        frame = reading.load(spark)
        show(usage_by_client(parsed(frame)) if clients else usage_by_topic(frame), **arguments)
        return 0

    return run_job("spark usage", master, job)
