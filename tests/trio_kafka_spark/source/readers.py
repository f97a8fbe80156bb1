"""Readers without Spark, and what they read."""

from collections.abc import Iterable
from typing import Any

import pyarrow as pa
from pyspark.sql.datasource import DataSourceReader, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from trio_kafka_spark.data_source import TrioKafkaDataSource
from trio_kafka_spark.source.batch import BatchReader
from trio_kafka_spark.source.schema import full_schema
from trio_kafka_spark.source.stream import StreamReader

QUICK = {"fetchOffset.retryIntervalMs": "1", "kafka.retry.backoff.ms": "1"}


def options(bootstrap: str, topic: str = "", **values: str) -> dict[str, str]:
    """Options with `_` in place of `.`; a topic is subscribed to."""
    named = {name.replace("_", "."): value for name, value in values.items()}
    subscribed = {"subscribe": topic} if topic else {}
    return {"kafka.bootstrap.servers": bootstrap, **QUICK, **subscribed, **named}


def batch_reader(schema: StructType | None = None, **settings: str) -> BatchReader:
    reader = TrioKafkaDataSource(settings).reader(schema or full_schema(include_headers=False))
    assert isinstance(reader, BatchReader)
    return reader


def stream_reader(schema: StructType | None = None, **settings: str) -> StreamReader:
    source = TrioKafkaDataSource(settings)
    reader = source.streamReader(schema or full_schema(include_headers=False))
    assert isinstance(reader, StreamReader)
    return reader


def rows(
    reader: DataSourceReader | DataSourceStreamReader, partitions: Iterable[InputPartition]
) -> list[dict[str, Any]]:
    batches = [each for planned in partitions for each in reader.read(planned)]
    assert all(isinstance(each, pa.RecordBatch) for each in batches)
    return [row for each in batches for row in each.to_pylist()]


def offsets(
    reader: DataSourceReader | DataSourceStreamReader, partitions: Iterable[InputPartition]
) -> dict[int, list[int]]:
    """Offsets in the order in which they were read, by partition."""
    offsets_of: dict[int, list[int]] = {}
    for row in rows(reader, partitions):
        offsets_of.setdefault(row["partition"], []).append(row["offset"])
    return offsets_of


def without_beginning(end: dict[str, Any]) -> dict[str, Any]:
    """The offsets at the end of a first batch, as those of any other batch."""
    return {topic: partitions for topic, partitions in end.items() if partitions}


def spans(partitions: Iterable[Any]) -> list[tuple[int, int, int]]:
    return [(planned.partition, planned.start, planned.stop) for planned in partitions]
