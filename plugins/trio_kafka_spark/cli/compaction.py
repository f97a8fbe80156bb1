"""`trio-kafka spark compaction`: what compaction would remove."""

from argparse import ArgumentParser
from typing import Any

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import declare_output, run_job, show
from trio_kafka_spark.jobs.compaction import compaction_what_if


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    parser.add_argument(
        "--include-active",
        action="store_true",
        help="as if active segments had been rolled; with --bootstrap always",
    )
    parser.add_argument(
        "--delete-retention-ms",
        type=int,
        default=86_400_000,
        metavar="MS",
        help="delete.retention.ms of the topic (%(default)d)",
    )
    declare_output(parser)


def compaction(
    *, include_active: bool, delete_retention_ms: int, master: str | None, **arguments: Any
) -> int:
    """Show how many records and bytes compaction would remove from each partition."""
    source = Input.taken(arguments)
    records = source.records()
    segments = None if source.path is None or include_active else source.view("segments")

    def job(spark: SparkSession) -> int:
        active = None if segments is None else segments.load(spark).where("is_active")
        removable = compaction_what_if(records.load(spark), active, delete_retention_ms)
        show(removable, **arguments)
        return 0

    return run_job("spark compaction", master, job)
