"""`trio-kafka spark replay`: records again, at their own speed, at another one, or at a rate."""

from argparse import ArgumentParser
from typing import Final

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import run_job
from trio_kafka_spark.cli.writing import Output, declare_writing, print_written
from trio_kafka_spark.jobs.replay import replay as replayed

# Rows that Spark passes on at once: fewer, and a slow replay does not come in bursts.
_ROWS_AT_ONCE: Final = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BURSTS_A_SECOND: Final = 10
_FEW: Final = 100


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    pace = parser.add_mutually_exclusive_group()
    pace.add_argument(
        "--speed",
        type=float,
        metavar="FACTOR",
        help="2: twice as fast as they were written (1, if there is no --rate)",
    )
    pace.add_argument("--rate", type=float, metavar="NUMBER", help="records a second")
    parser.add_argument(
        "--by-key",
        action="store_true",
        help="choose partitions by key, for a topic with another number of them",
    )
    declare_writing(parser, topic_required=True)


def replay(
    *,
    speed: float | None,
    rate: float | None,
    by_key: bool,
    master: str | None,
    json: bool,
    **arguments: object,
) -> int:
    """Write records again in order of time, at the speed of the past, another one, or a rate."""
    reading, output = Input.taken(arguments).records(includeHeaders="true"), Output.taken(arguments)

    def job(spark: SparkSession) -> int:
        records = reading.load(spark)
        factor = None if rate is not None else (1.0 if speed is None else speed)
        frame = replayed(records, output.to_topic, speed=factor, keep_partitions=not by_key)
        few = _FEW if rate is None else min(max(1, int(rate / _BURSTS_A_SECOND)), 20_000)
        before = spark.conf.get(_ROWS_AT_ONCE)
        spark.conf.set(_ROWS_AT_ONCE, str(few))
        try:
            more = {} if rate is None else {"maxRecordsPerSecond": str(rate)}
            written = output.write(frame, **more)
        finally:
            spark.conf.set(_ROWS_AT_ONCE, str(before))
        print_written(written, output.to_topic, json=json)
        return 0

    return run_job("spark replay", master, job)
