"""Columns of each view, as Arrow types and as the text that Spark reads.

Column pruning: `.schema("value binary, offset bigint")` on the reader leaves out all other columns,
which are then never made.
"""

import difflib
from collections.abc import Mapping
from typing import Final

import pyarrow as pa

from trio_kafka.records.columnar import COLUMNS, arrow_schema
from trio_kafka.records.columnar.scan import SCAN_SCHEMA
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.options import LogOptions

TIMESTAMP: Final = pa.timestamp("us", tz="UTC")
_PLACE: Final = (("topic", pa.string()), ("partition", pa.int32()), ("file", pa.string()))

# Spark's timestamps are in microseconds.
BATCHES: Final = pa.schema(
    [
        *_PLACE,
        *(
            field.with_type(TIMESTAMP) if pa.types.is_timestamp(field.type) else field
            for field in SCAN_SCHEMA
        ),
    ]
)
UNCOMPRESSED: Final = pa.field("uncompressed_size", pa.int64())

SEGMENTS: Final = pa.schema(
    [
        *_PLACE,
        ("base_offset", pa.int64()),
        ("is_active", pa.bool_()),
        ("size", pa.int64()),
        ("whole_size", pa.int64()),
        ("index_size", pa.int64()),
        ("time_index_size", pa.int64()),
        ("transaction_index_size", pa.int64()),
        ("modified", TIMESTAMP),
        ("first_offset", pa.int64()),
        ("last_offset", pa.int64()),
        ("batches", pa.int64()),
        ("records", pa.int64()),
        ("min_timestamp", TIMESTAMP),
        ("max_timestamp", TIMESTAMP),
        ("error", pa.string()),
    ]
)
# Columns of SEGMENTS for which the headers of the segment are walked.
WALKED: Final = frozenset(SEGMENTS.names[SEGMENTS.names.index("first_offset") :]) | {"whole_size"}

ERRORS: Final = pa.schema(
    [*_PLACE, ("position", pa.int64()), ("size", pa.int64()), ("error", pa.string())]
)

_NAMES: Final[Mapping[object, str]] = {
    pa.binary(): "binary",
    pa.bool_(): "boolean",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.string(): "string",
    TIMESTAMP: "timestamp",
}
_HEADERS: Final = "array<struct<key:string,value:binary>>"


def view_schema(options: LogOptions) -> pa.Schema:
    """Return all columns of the view that is asked for."""
    match options.view:
        case "records":
            names = [name for name in COLUMNS if options.include_headers or name != "headers"]
            return arrow_schema(names)
        case "batches":
            return BATCHES.append(UNCOMPRESSED) if options.uncompressed else BATCHES
        case "segments":
            return SEGMENTS
        case _:
            return ERRORS


def spark_type(kind: pa.DataType) -> str:
    """Return Spark's name of a column's type, as `simpleString` has it."""
    return _NAMES.get(kind, _HEADERS)


def ddl(schema: pa.Schema) -> str:
    """Return a schema as the text that Spark reads."""
    return ", ".join(f"`{field.name}` {spark_type(field.type)}" for field in schema)


def pruned(schema: pa.Schema, types: Mapping[str, str]) -> pa.Schema:
    """Return the wanted columns in their order. wanted: types by name, as `simpleString` has them.

    Raises OptionError for an unknown column and for another type.
    """
    fields = []
    for name, kind in types.items():
        index = schema.get_field_index(name)
        if index < 0:
            near = difflib.get_close_matches(name, schema.names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]}?" if near else f"want {', '.join(schema.names)}"
            raise OptionError("schema", f"there is no column {name}: {hint}")
        field = schema.field(index)
        if kind != spark_type(field.type):
            raise OptionError("schema", f"column {name} is {spark_type(field.type)}, found {kind}")
        fields.append(field)
    return pa.schema(fields)
