"""Entry points for Spark: the data source, and its reader for one view.

Planning runs once, on the driver; `read` runs in worker processes, which open the files by
themselves. Everything between them is picklable and small.
"""

from collections.abc import Iterator, Mapping
from typing import NoReturn

import pyarrow as pa
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.batches import read_batches
from trio_kafka_spark.log.options import LogOptions
from trio_kafka_spark.log.plan import plan_pieces, plan_ranges
from trio_kafka_spark.log.records import read_errors, read_records
from trio_kafka_spark.log.schemas import ddl, pruned, view_schema
from trio_kafka_spark.log.segments import plan_segments, read_segments

FORMAT = "trio-kafka-log"


class LogSource(DataSource):
    """`format("trio-kafka-log")`: batch reads of log directories."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def schema(self) -> str:
        return ddl(view_schema(LogOptions.from_options(self.options)))

    def reader(self, schema: StructType) -> "LogReader":
        return LogReader(self.options, schema)

    def streamReader(self, schema: StructType) -> NoReturn:  # noqa: ARG002, N802
        raise OptionError(
            "format", f"{FORMAT} is for batch reads: stream topics with format trio-kafka"
        )


class LogReader(DataSourceReader):
    """Reader of one view. schema: the columns to make, in their order; None: all of them."""

    def __init__(self, options: Mapping[str, str], schema: StructType | None = None) -> None:
        self.options = LogOptions.from_options(options)
        all_columns = view_schema(self.options)
        if schema is None:
            self.columns: tuple[str, ...] = tuple(all_columns.names)
        else:
            types = {field.name: field.dataType.simpleString() for field in schema.fields}
            self.columns = tuple(pruned(all_columns, types).names)

    def partitions(self) -> list[InputPartition]:
        """Return a partition for each task. Raises OptionError, SourceError, OSError."""
        if self.options.view == "segments":
            return [InputPartition(pack) for pack in plan_segments(plan_ranges(self.options))]
        return [InputPartition(pack) for pack in plan_pieces(self.options)]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """Yield the rows of one partition. Raises CorruptLogError, SourceError, OSError."""
        planned = partition.value
        if planned is None:  # what Spark makes of an empty list
            return iter(())
        match self.options.view:
            case "records":
                return read_records(planned, self.columns, self.options)
            case "batches":
                return read_batches(planned, self.columns, self.options)
            case "segments":
                return read_segments(planned, self.columns)
            case _:
                errors = read_errors(planned, self.options)
                return (batch.select(list(self.columns)) for batch in errors)
