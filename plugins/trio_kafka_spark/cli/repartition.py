"""`trio-kafka spark repartition`: a topic's records in another number of partitions."""

from argparse import ArgumentParser

from pyspark.sql import SparkSession

from trio_kafka_spark.cli.inputs import Input, declare_input
from trio_kafka_spark.cli.outputs import run_job
from trio_kafka_spark.cli.writing import Output, declare_writing, print_written
from trio_kafka_spark.jobs.repartition import repartition as repartitioned


def declare(parser: ArgumentParser) -> None:
    declare_input(parser, broker=True)
    declare_writing(parser, topic_required=True)


def repartition(*, master: str | None, json: bool, **arguments: object) -> int:
    """Copy records to a topic with another number of partitions, keeping the order of each key."""
    reading, output = Input.taken(arguments).records(includeHeaders="true"), Output.taken(arguments)

    def job(spark: SparkSession) -> int:
        count = output.partitions()
        records = reading.load(spark)
        written = output.write(repartitioned(records, count, output.to_topic))
        print_written(written, output.to_topic, json=json, partitions=count)
        return 0

    return run_job("spark repartition", master, job)
