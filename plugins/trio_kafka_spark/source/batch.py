"""Batch reads: Spark asks for the tasks once, and runs `read` for each of them in some worker."""

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from pyspark.sql.datasource import DataSourceReader, Filter, InputPartition

from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.source.filters import Bounds
from trio_kafka_spark.source.options import ReadOptions
from trio_kafka_spark.source.plan import TopicRange, plan_batch
from trio_kafka_spark.source.resolve import Resolver

if TYPE_CHECKING:
    import pyarrow as pa


class BatchReader(DataSourceReader):
    """One read of what topics hold. It has no pushFilters: Spark would refuse the query."""

    def __init__(self, options: ReadOptions, columns: tuple[str, ...]) -> None:
        self.options = options
        self.columns = columns
        self.bounds = Bounds()

    def partitions(self) -> list[InputPartition]:
        """Return the tasks. Spark makes one with the value None of an empty list."""
        with Cluster(self.options.client) as cluster:
            resolver = Resolver(options=self.options, cluster=cluster)
            return [TopicRange(planned) for planned in plan_batch(resolver, self.bounds)]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        """Yield the records of one task as Arrow batches."""
        if isinstance(partition, TopicRange):
            from trio_kafka_spark.source.reading import (  # noqa: PLC0415 - in workers alone
                read_range,
            )

            yield from read_range(self.options, self.columns, partition)


class FilteringBatchReader(BatchReader):
    """A batch read whose filters bound what is read: option pushdown=true.

    Needs spark.sql.python.filterPushdown.enabled=true; else Spark fails the query with
    DATA_SOURCE_PUSHDOWN_DISABLED, which names that setting.
    """

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:  # noqa: N802 - Spark's name
        """Take the filters on topic, partition, offset and time; return those Spark must apply."""
        return self.bounds.push(filters)
