"""Topics to a table: one streaming query, each record once, whatever crashes.

Spark's checkpoint says which offsets make a batch, and the table says which batches it has. The id
that ties the two lives in the checkpoint: with a new checkpoint the query is a new one.
"""

import json
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as f
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.types import StringType, StructField, StructType

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.lake.files import replace
from trio_kafka_spark.lake.pace import RECORDS_PER_SECOND, pace_for
from trio_kafka_spark.lake.sink import AVRO, JSON, NAME, PLAN, RAW, TablePlan, TableSink
from trio_kafka_spark.lake.values import (
    ERROR,
    PREFIX,
    VALUE,
    Json,
    Raw,
    ValueFormat,
    dead_letter_schema,
    json_of,
    parsed_schema,
    raw_schema,
)

FAIL: Final = "fail"
_APP_FILE: Final = "trio-kafka-app.json"
_CORRUPT: Final = "_kafka_corrupt"
_LONGEST_QUERY_NAME: Final = 200


def topic_to_table(
    spark: SparkSession,
    options: Mapping[str, str],
    path: str,
    *,
    table: str = "delta",
    value: ValueFormat | None = None,
    checkpoint: str | None = None,
    dead_letters: str | None = None,
    lag: str | float | None = "1m",
    records_per_second: int = RECORDS_PER_SECOND,
    headers: bool = False,
) -> StreamingQuery:
    """Start a query that writes each record of topics to a table once, and return it.

    options: of `format("trio-kafka")`: brokers, topics, where to begin (default: the earliest
        offsets), limits. path: directory of the table; all executors must have it. table: `delta`
        or `parquet`. value: Raw(), Json(...) or Avro(...).
    checkpoint: directory of the query's progress; by default `_checkpoint` in the table. It must
        live as long as the table.
    dead_letters: directory of the table of records that do not parse; by default the table's with
        `_dead_letters` at the end; `fail` has such a record fail the query.
    lag: how old a record may be when it is in the table, such as `30s`; it sets the trigger and,
        with `records_per_second`, the size of batches. None: all there is now, then end.
    headers: keep the records' headers.
    Raises OptionError, ValueError and SourceError, all before the query starts.
    """
    if table not in ("delta", "parquet"):
        raise OptionError("table", f"{table!r}: want delta or parquet")
    directory = local_path("path", path)
    progress = local_path("checkpoint", checkpoint or str(directory / "_checkpoint"))
    plan = _planned(
        value or Raw(),
        headers=headers,
        format=table,
        path=str(directory),
        dead_path=str(local_path("dead_letters", _dead_path(directory, dead_letters))),
        fail=dead_letters == FAIL,
        app=query_id(progress),
    )
    named = {name.lower() for name in options}
    source = {name: text for name, text in options.items() if name.lower() != "includeheaders"}
    source["includeHeaders"] = str(headers).lower()
    if not any(name.startswith("starting") for name in named):
        source["startingOffsets"] = "earliest"
    trigger: dict[str, Any] = {"availableNow": True}
    if lag is not None:
        pace = pace_for(lag, records_per_second)
        trigger = {"processingTime": pace.trigger}
        if not named & {"maxoffsetspertrigger", "minoffsetspertrigger"}:
            source["maxOffsetsPerTrigger"] = str(pace.records)
    plan.prepare()
    spark.dataSource.register(TableSink)
    rows = _rows(spark.readStream.format("trio-kafka").options(**source).load(), value, headers)
    return (
        rows.writeStream.format(NAME)
        .queryName(f"table {directory.name}"[:_LONGEST_QUERY_NAME])
        .option(PLAN, plan.text())
        .option("checkpointLocation", str(progress))
        .trigger(**trigger)
        .start()
    )


def query_id(checkpoint: Path) -> str:
    """Return the id of the query with this checkpoint; a new checkpoint gets a new id.

    Targets know batches by it. It is lost with the checkpoint: batches that are numbered anew are
    not taken for the old ones.
    """
    path = checkpoint / _APP_FILE
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["app"])
    except FileNotFoundError:
        app = f"trio-kafka-{uuid.uuid4()}"
        replace(path, json.dumps({"app": app}))
        return app


def local_path(option: str, path: str) -> Path:
    """Return a path of the file system. Raises OptionError for one of an object store."""
    scheme, separator, rest = path.partition("://")
    if separator and scheme != "file":
        raise OptionError(
            option, f"{path!r} is not on a file system: want a directory that all executors have"
        )
    return Path(rest if separator else path.removeprefix("file:")).absolute()


def _dead_path(directory: Path, dead_letters: str | None) -> str:
    if dead_letters is None or dead_letters == FAIL:
        return f"{directory}_dead_letters"
    return dead_letters


def _planned(value: ValueFormat, *, headers: bool, **rest: Any) -> TablePlan:
    dead = json_of(dead_letter_schema(headers=headers))
    if isinstance(value, Raw):
        schema = json_of(raw_schema(headers=headers))
        return TablePlan(kind=RAW, table=schema, dead=dead, **rest)
    if isinstance(value, Json):
        schema = json_of(parsed_schema(json_schema(value), headers=headers))
        return TablePlan(kind=JSON, table=schema, dead=dead, **rest)
    from trio_kafka_spark.lake.avro import struct_of  # noqa: PLC0415 - fastavro

    reader = value.reader_schema()
    schema = json_of(parsed_schema(struct_of(reader), headers=headers))
    return TablePlan(
        kind=AVRO, table=schema, dead=dead, avro_schema=reader, registry=value.registry, **rest
    )


def json_schema(value: Json) -> StructType:
    """Return the schema of JSON values. Raises OptionError."""
    if isinstance(value.schema, StructType):
        return value.schema
    try:
        schema = StructType.fromDDL(value.schema)
    except Exception as error:  # noqa: BLE001 - of several kinds, by way of the JVM
        raise OptionError("schema", f"{value.schema!r} is no schema in SQL: {error}") from None
    if not isinstance(schema, StructType):
        raise OptionError(
            "schema", f"{value.schema!r} is one type: want columns, as in `id BIGINT`"
        )
    return schema


def _rows(source: DataFrame, value: ValueFormat | None, headers: bool) -> DataFrame:
    """Return what the sink gets: the columns of records, or those of parsed JSON."""
    names = ["key", "value", "topic", "partition", "offset", "timestamp"]
    names += ["headers"] if headers else []
    if isinstance(value, Json):
        return parsed_json(source, value, [name for name in names if name != VALUE])
    return source.select(*names)


def parsed_json(source: DataFrame, value: Json, beside: list[str]) -> DataFrame:
    """Return the fields of JSON values, the record's columns, and why a value did not parse."""
    schema = json_schema(value)
    reading = StructType([*schema.fields, StructField(_CORRUPT, StringType())])
    reader = {**value.options, "mode": "PERMISSIVE", "columnNameOfCorruptRecord": _CORRUPT}
    parsed = source.select(
        "*", f.from_json(f.col(VALUE).cast("string"), reading, reader).alias("_parsed")
    )
    inner = f.col("_parsed")
    error = f.when(f.col(VALUE).isNull(), f.lit(None).cast("string"))
    error = error.when(
        inner.isNull() | inner[_CORRUPT].isNotNull(),
        f.lit(f"no JSON object of this schema: {schema.simpleString()}"[:500]),
    )
    for field in schema.fields:
        if not field.nullable:
            missing = f.lit(f"field {field.name} is missing, null or of another type")
            error = error.when(inner[field.name].isNull(), missing)
    marked = parsed.select("*", error.alias("_error"))
    kept: list[Column] = [inner[field.name].alias(field.name) for field in schema.fields]
    kept += [f.col(name).alias(PREFIX + name) for name in beside]
    kept.append(f.col("_error").alias(PREFIX + ERROR))
    kept.append(f.when(f.col("_error").isNotNull(), f.col(VALUE)).alias(PREFIX + VALUE))
    return marked.select(*kept)
