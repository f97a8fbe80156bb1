"""`trio-kafka spark verify`: CRCs, order and indexes of log directories."""

import sys
from argparse import ArgumentParser
from typing import Any, Final

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.verify import verify as verified

DAMAGED: Final = 1


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=False)
    declare_output(parser)


def verify(*, master: str | None, **arguments: Any) -> int:
    """Show what is wrong in log directories; the status is 1 if anything is."""
    reading = Input.taken(arguments).view("segments")

    def job(spark: SparkSession) -> int:
        findings = verified(reading.load(spark)).cache()
        count = findings.count()
        if count or arguments["save"]:
            show(findings.orderBy("file", "position", "kind"), **arguments)
        findings.unpersist()
        print(f"{count} findings" if count else "everything agrees", file=sys.stderr)
        return DAMAGED if count else 0

    return run_job("spark verify", master, job)
