"""A table back to topics: restore, backfill, replay.

One batch query over the files of one version of the table, at least once. Rows of a partition are
written in the order of their offsets. The columns are those that `topic_to_table` made, or any
that an expression gives.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.types import StructType

from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.lake.to_table import local_path
from trio_kafka_spark.lake.values import PREFIX

NO_TABLE: Final = "LAKE_NO_TABLE"
_TIMESTAMP: Final = "_replayed_at"
_RECORD: Final = ("key", "topic", "partition", "offset", "timestamp", "headers")


def table_to_topic(
    spark: SparkSession,
    path: str,
    options: Mapping[str, str],
    *,
    table: str = "delta",
    topic: str | None = None,
    where: str | None = None,
    version: int | None = None,
    value: str | None = None,
    key: str | None = None,
    keep_partitions: bool = False,
    keep_timestamps: bool = True,
    records_per_second: float | None = None,
) -> int:
    """Write the rows of a table to topics, and return how many there were.

    options: of `format("trio-kafka")`: brokers and producer. table: `delta` or `parquet`.
    topic: where all records go; None: each to the topic that it came from.
    where: a condition in SQL on the table's columns, for example a range of timestamps.
    version: of a Delta table; None: the newest.
    value, key: expressions in SQL; by default the columns of raw records, and of parsed ones the
        fields as a JSON object, and `kafka_key`.
    keep_partitions: write to the partition that a record came from; else keys choose it.
    keep_timestamps: records keep their time; else it is the time of the write.
    records_per_second: replay at this rate, in the order of timestamps, with one task.
    Raises OptionError and SourceError.
    """
    named = {name.lower() for name in options}
    if named & {"maxrecordspersecond", "timestampcolumn", "topic"}:
        raise OptionError("options", "give topic and rate as arguments, not as options")
    rows = read_table(spark, path, table=table, version=version)
    if where is not None:
        rows = rows.where(where)
    records = as_records(
        rows, value=value, key=key, keep_partitions=keep_partitions, has_topic=topic is not None
    )
    writing = dict(options)
    if topic is not None:
        writing["topic"] = topic
    if keep_timestamps and _TIMESTAMP in records.columns:
        writing["timestampColumn"] = _TIMESTAMP
    if records_per_second is not None:
        writing["maxRecordsPerSecond"] = str(records_per_second)
    return _write(_ordered(records, paced=records_per_second is not None), writing)


def read_table(
    spark: SparkSession, path: str, *, table: str = "delta", version: int | None = None
) -> DataFrame:
    """Return the rows of a table, without a jar for Delta: its log names the Parquet files."""
    directory = local_path("path", path)
    if table == "parquet":
        from trio_kafka_spark.lake.parquet import ParquetTarget  # noqa: PLC0415 - on first use

        if version is not None:
            raise OptionError("version", "is of Delta tables; plain Parquet has none")
        schema = ParquetTarget(directory).schema()
        if schema is None:
            raise _no_table(directory, "plain Parquet")
        files = [str(file) for file in sorted(directory.glob("batch=*/*.parquet"))]
        return _files(spark, schema, files)
    if table != "delta":
        raise OptionError("table", f"{table!r}: want delta or parquet")
    from deltalake import DeltaTable  # noqa: PLC0415 - on first use
    from deltalake.exceptions import DeltaError, TableNotFoundError  # noqa: PLC0415

    from trio_kafka_spark.lake.delta import check_features  # noqa: PLC0415

    try:
        delta = DeltaTable(str(directory), version=version)
    except TableNotFoundError:
        raise _no_table(directory, "Delta") from None
    except DeltaError as error:
        raise SourceError(NO_TABLE, f"{directory}, version {version}: {error}") from None
    check_features(delta, str(directory))
    if delta.metadata().partition_columns:
        raise SourceError(NO_TABLE, f"{directory} has partition columns, which are not read")
    return _files(spark, json.loads(delta.schema().to_json()), delta.file_uris())


def as_records(
    rows: DataFrame, *, value: str | None, key: str | None, keep_partitions: bool, has_topic: bool
) -> DataFrame:
    """Return the columns of a sink, and those by which rows are ordered."""
    names = rows.columns
    prefix = PREFIX if PREFIX + "offset" in names else ""
    columns: list[Column] = [f.expr(value).alias("value")] if value else [_value(rows, prefix)]
    if key is not None:
        columns.append(f.expr(key).alias("key"))
    elif prefix + "key" in names:
        columns.append(f.col(prefix + "key").alias("key"))
    if prefix + "headers" in names:
        columns.append(f.col(prefix + "headers").alias("headers"))
    if not has_topic:
        columns.append(_needed(rows, prefix + "topic", "topic").alias("topic"))
    if keep_partitions:
        columns.append(_needed(rows, prefix + "partition", "keep_partitions").alias("partition"))
    if prefix + "timestamp" in names:
        columns.append(f.col(prefix + "timestamp").alias(_TIMESTAMP))
    columns += [
        f.col(prefix + name).alias(f"_from_{name}")
        for name in ("topic", "partition", "offset")
        if prefix + name in names
    ]
    return rows.select(*columns)


def _value(rows: DataFrame, prefix: str) -> Column:
    if not prefix:
        return _needed(rows, "value", "value").alias("value")
    own = {prefix + name for name in _RECORD} | {"batch"}
    fields = [f.col(name) for name in rows.columns if name not in own]
    return f.to_json(f.struct(*fields)).alias("value")


def _needed(rows: DataFrame, column: str, option: str) -> Column:
    if column not in rows.columns:
        has = ", ".join(rows.columns)
        raise OptionError(option, f"the table has no column {column}; its columns are {has}")
    return f.col(column)


def _ordered(records: DataFrame, *, paced: bool) -> DataFrame:
    """Return rows in the order of offsets within each partition; paced ones in order of time."""
    order = ("_from_topic", "_from_partition", "_from_offset")
    there = [name for name in order if name in records.columns]
    if paced:
        by = [name for name in (_TIMESTAMP, *there) if name in records.columns]
        return records.repartition(1).sortWithinPartitions(*by) if by else records.repartition(1)
    if "_from_partition" not in there:
        return records
    return records.repartition("_from_topic", "_from_partition").sortWithinPartitions(*there)


def _write(records: DataFrame, options: dict[str, str]) -> int:
    from pyspark.sql import Observation  # noqa: PLC0415 - counts what is written

    written = Observation("table_to_topic")
    observed = records.observe(written, f.count(f.lit(1)).alias("rows"))
    observed.write.format("trio-kafka").options(**options).mode("append").save()
    return int(written.get["rows"])


def _files(spark: SparkSession, schema: dict[str, object], files: list[str]) -> DataFrame:
    struct = StructType.fromJson(schema)
    if not files:
        return spark.createDataFrame([], struct)
    return spark.read.schema(struct).parquet(*files)


def _no_table(directory: Path, kind: str) -> SourceError:
    return SourceError(NO_TABLE, f"{directory} is no {kind} table; check the path")
