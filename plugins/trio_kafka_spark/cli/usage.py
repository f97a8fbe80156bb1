"""`trio-kafka spark usage`: what topics store, or what clients ask for."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.cli.requests import REQUEST_TOPIC, requests_of
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
    given = Input.taken(arguments)

    def job(spark: SparkSession) -> int:
        if clients:
            found = usage_by_client(requests_of(given, spark))
        else:
            found = usage_by_topic(given.view(spark, "segments"))
        show(found, **arguments)
        return 0

    return run_job("spark usage", master, job)
