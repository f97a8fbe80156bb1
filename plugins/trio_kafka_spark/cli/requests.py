"""`trio-kafka spark requests`: latency, errors and sizes from the request log's topic."""

from argparse import ArgumentParser
from collections.abc import Sequence
from typing import Any, Final

import attrs
from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, Reading, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.request_log import parsed
from trio_kafka_spark.jobs.requests import BY, analyse

REQUEST_TOPIC: Final = "trio-request-log"


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    parser.add_argument(
        "--by",
        action="append",
        choices=BY,
        metavar="COLUMN",
        help=f"one row for each of its values (api); may be repeated: {', '.join(BY)}",
    )
    parser.add_argument(
        "--every", metavar="DURATION", help='one row for each such time, too, such as "1 minute"'
    )
    declare_output(parser)


def requests(
    *, by: Sequence[str] | None, every: str | None, master: str | None, **arguments: Any
) -> int:
    """Show counts, errors and latency from the request log (trio.request.log=topic)."""
    reading = request_log(Input.taken(arguments))

    def job(spark: SparkSession) -> int:
        show(analyse(parsed(reading.load(spark)), by or ["api"], every), **arguments)
        return 0

    return run_job("spark requests", master, job)


def request_log(source: Input) -> Reading:
    """Return a reading of the request log's topic, `trio-request-log` unless one is named.

    Raises CommandFailedError.
    """
    if not source.topic and not source.pattern:
        source = attrs.evolve(source, topic=[REQUEST_TOPIC])
    return source.records()
