"""`format("trio-kafka")`: what Spark makes of it, each part imported when it is asked for.

Options are checked when a DataFrame is made, as far as they do not depend on how it is read.
"""

from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceArrowWriter,
    DataSourceReader,
    DataSourceStreamArrowWriter,
    DataSourceStreamReader,
)
from pyspark.sql.types import StructType

if TYPE_CHECKING:
    from trio_kafka_spark.source.options import Mode, ReadOptions


class TrioKafkaDataSource(DataSource):
    """Topics of a Kafka cluster, with the options of Spark's own Kafka connector."""

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return "trio-kafka"

    def schema(self) -> StructType:
        """Return the columns of a read without `.schema(...)`. Raises OptionError."""
        from trio_kafka_spark.source.options import Mode  # noqa: PLC0415 - on first use
        from trio_kafka_spark.source.schema import full_schema  # noqa: PLC0415

        return full_schema(include_headers=self._read_options(Mode.EITHER).include_headers)

    def reader(self, schema: StructType) -> DataSourceReader:
        """Return the reader of a batch; with pushdown=true, one to which Spark gives filters."""
        from trio_kafka_spark.source.batch import (  # noqa: PLC0415 - on first use
            BatchReader,
            FilteringBatchReader,
        )
        from trio_kafka_spark.source.options import Mode  # noqa: PLC0415
        from trio_kafka_spark.source.schema import columns_of  # noqa: PLC0415

        options = self._read_options(Mode.BATCH)
        reader = FilteringBatchReader if options.pushdown else BatchReader
        return reader(options, columns_of(schema))

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802 - Spark's
        """Return the reader of a stream."""
        from trio_kafka_spark.source.options import Mode  # noqa: PLC0415 - on first use
        from trio_kafka_spark.source.schema import columns_of  # noqa: PLC0415
        from trio_kafka_spark.source.stream import StreamReader  # noqa: PLC0415

        return StreamReader(self._read_options(Mode.STREAM), columns_of(schema))

    def writer(self, schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
        """Return the writer of a batch. Raises OptionError, SourceError."""
        from trio_kafka_spark.sink.writer import batch_writer  # noqa: PLC0415 - on first use

        return batch_writer(dict(self.options), schema, overwrite=overwrite)

    def streamWriter(  # noqa: N802 - Spark's
        self,
        schema: StructType,
        overwrite: bool,  # noqa: ARG002 - all modes are alike
    ) -> DataSourceStreamArrowWriter:
        """Return the writer of a stream, in any output mode. Raises OptionError, SourceError."""
        from trio_kafka_spark.sink.writer import stream_writer  # noqa: PLC0415 - on first use

        return stream_writer(dict(self.options), schema)

    def _read_options(self, mode: "Mode") -> "ReadOptions":
        from trio_kafka_spark.source.options import parse  # noqa: PLC0415 - on first use

        return parse(dict(self.options), mode)
