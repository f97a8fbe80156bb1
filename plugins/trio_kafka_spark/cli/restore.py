"""`trio-kafka spark restore`: records back into their partitions, from logs or from a table."""

from argparse import ArgumentParser

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, Reading, declare_input, refused
from trio_kafka_spark.cli.outputs import run_job
from trio_kafka_spark.cli.writing import Output, declare_writing, print_written
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.jobs.restore import restore as restored


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    parser.add_argument(
        "--parquet", metavar="DIR", help="or a table of Parquet files with the columns of a topic"
    )
    declare_writing(parser, topic_required=False)


def restore(*, parquet: str | None, master: str | None, json: bool, **arguments: object) -> int:
    """Write records back into the partitions that they came from, in order, with their times."""
    reading, output = _reading(Input.taken(arguments), parquet), Output.taken(arguments)

    def job(spark: SparkSession) -> int:
        records = spark.read.parquet(str(parquet)) if reading is None else reading.load(spark)
        written = output.write(restored(records, output.to_topic))
        print_written(written, output.to_topic, json=json)
        return 0

    return run_job("spark restore", master, job)


def _reading(source: Input, parquet: str | None) -> Reading | None:
    """Return the reading of records; None if a Parquet table is read. Raises CommandFailedError."""
    if parquet is None:
        return source.records(includeHeaders="true")
    with refused():
        if source.path or source.bootstrap:
            raise OptionError(
                "parquet", "found another input too; give one of --path, --bootstrap, --parquet"
            )
    return None
