"""Formats of values, and the columns of the table that each makes.

Raw keeps the record as it is. The other two make a column of each field of the value and put the
record's own columns beside them, as `kafka_key`, `kafka_topic` and so on.
"""

import json
from typing import Final

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DataType,
    IntegerType,
    LongType,
    MapType,
    StringType,
    StructField,
    StructType,
    TimestampType,
)

from trio_kafka.attributes import frozen
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.lake.registry import Registry, RegistrySettings, UnknownSchemaError

PREFIX: Final = "kafka_"
ERROR: Final = "error"
VALUE: Final = "value"
_HEADERS: Final = ArrayType(
    StructType([StructField("key", StringType()), StructField("value", BinaryType())])
)
_RECORD: Final[dict[str, DataType]] = {
    "key": BinaryType(),
    "value": BinaryType(),
    "topic": StringType(),
    "partition": IntegerType(),
    "offset": LongType(),
    "timestamp": TimestampType(),
    "headers": _HEADERS,
}


@frozen
class Raw:
    """Values as they are: columns key, value, topic, partition, offset and timestamp."""


@frozen(kw_only=True)
class Json:
    """JSON objects, read by Spark's `from_json`.

    schema: in SQL (`id BIGINT NOT NULL, name STRING`) or a StructType. A field that is NOT NULL
        must be there.
    options: of Spark's JSON reader, for example `timestampFormat`.
    """

    schema: str | StructType
    options: dict[str, str] = {}  # noqa: RUF012 - a frozen field


@frozen(kw_only=True)
class Avro:
    """Avro records, read by fastavro.

    schema: path of a schema file (.avsc), or the schema itself as parsed JSON. registry: where
        the schemas of values in Confluent's wire format are. With a registry and no schema the
        newest one of `subject` is used; it stays for as long as the query runs.
    """

    schema: object = None
    registry: RegistrySettings | None = None
    subject: str | None = None

    def reader_schema(self) -> object:
        """Return the schema that values are read with. Raises OptionError, SourceError."""
        from trio_kafka_spark.lake.avro import read_schema  # noqa: PLC0415 - fastavro

        if isinstance(self.schema, str):
            return read_schema(self.schema)
        if self.schema is not None:
            return self.schema
        if self.registry is None or self.subject is None:
            raise OptionError("Avro", "want a schema, or a registry and a subject")
        try:
            return Registry(self.registry).latest(self.subject)
        except UnknownSchemaError as error:
            raise OptionError("subject", str(error)) from None


ValueFormat = Raw | Json | Avro


def record_fields(*names: str, headers: bool, prefix: str = "") -> list[StructField]:
    """Return fields of the record itself, with headers at the end if they are wanted."""
    chosen = (*names, "headers") if headers else names
    return [StructField(prefix + name, _RECORD[name]) for name in chosen]


def raw_schema(*, headers: bool) -> StructType:
    """Return the columns of a table of raw records."""
    names = ("key", "value", "topic", "partition", "offset", "timestamp")
    return StructType(record_fields(*names, headers=headers))


def dead_letter_schema(*, headers: bool) -> StructType:
    """Return the columns of a dead-letter table: the record, and why it did not parse."""
    error = StructField(ERROR, StringType())
    return StructType([error, *raw_schema(headers=headers).fields])


def parsed_schema(value: StructType, *, headers: bool) -> StructType:
    """Return the columns of a table of parsed values. Raises OptionError for a name in use."""
    names = ("key", "topic", "partition", "offset", "timestamp")
    beside = record_fields(*names, headers=headers, prefix=PREFIX)
    taken = {field.name for field in beside} | {PREFIX + ERROR, PREFIX + VALUE}
    for field in value.fields:
        if field.name.lower() in taken:
            raise OptionError("schema", f"field {field.name} has the name of another column")
        taken.add(field.name.lower())
    return StructType([*map(_nullable, value.fields), *beside])


def json_of(schema: StructType) -> dict[str, object]:
    """Return Spark's JSON of a struct."""
    return dict(json.loads(schema.json()))


def _nullable(field: StructField) -> StructField:
    return StructField(field.name, _all_nullable(field.dataType))


def _all_nullable(kind: DataType) -> DataType:
    if isinstance(kind, StructType):
        return StructType([_nullable(field) for field in kind.fields])
    if isinstance(kind, ArrayType):
        return ArrayType(_all_nullable(kind.elementType))
    if isinstance(kind, MapType):
        return MapType(_all_nullable(kind.keyType), _all_nullable(kind.valueType))
    return kind
