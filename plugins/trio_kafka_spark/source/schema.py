"""Columns of a read: those of Spark's own Kafka connector, or the ones that `.schema(...)` chooses.

Spark's Python API prunes no columns by itself; a schema that the query gives does, and only those
columns are decoded.
"""

from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

_HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
TYPES: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "timestampType": IntegerType(),
    "headers": _HEADERS,
}


class SchemaError(ValueError):
    """A column that was asked for by `.schema(...)` and that a topic does not have."""


def full_schema(*, include_headers: bool) -> StructType:
    """Return the schema of a read without `.schema(...)`."""
    return StructType(
        [
            StructField(name, kind)
            for name, kind in TYPES.items()
            if include_headers or name != "headers"
        ]
    )


def columns_of(schema: StructType) -> tuple[str, ...]:
    """Return the names of the columns to decode, in the schema's order.

    Raises SchemaError, which names the column, for a name or a type that a topic does not have.
    """
    for field in schema.fields:
        expected = TYPES.get(field.name)
        if expected is None:
            raise SchemaError(
                f"schema: found column {field.name!r}; expected one of {', '.join(TYPES)}"
            )
        if field.dataType.simpleString() != expected.simpleString():
            raise SchemaError(
                f"schema: found column {field.name} {field.dataType.simpleString()}; expected "
                f"{expected.simpleString()} (cast it after loading)"
            )
    names = tuple(field.name for field in schema.fields)
    if not names:
        raise SchemaError("schema: found no column; expected at least one")
    if len(set(names)) != len(names):
        raise SchemaError(f"schema: found a column twice in {', '.join(names)}")
    return names
