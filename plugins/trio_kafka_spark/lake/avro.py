"""Avro values to columns: the types of a schema, and a parser of whole Arrow columns.

A value is read with the schema that it was written with and resolved to the reader's schema, as
Avro's specification says: fields that were added since have their default, removed ones are left
out. Times of day, UUIDs and durations become the numbers, strings and bytes that they are stored
as. A value that does not parse is given back with the reason; it stops nothing.
"""

import io
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import fastavro
import pyarrow as pa
from attrs import field
from pyspark.sql import types as t

from trio_kafka.attributes import define
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.lake.registry import Registry, RegistrySettings, UnknownSchemaError, split_id

_PRIMITIVES: Final[dict[str, t.DataType]] = {
    "boolean": t.BooleanType(),
    "int": t.IntegerType(),
    "long": t.LongType(),
    "float": t.FloatType(),
    "double": t.DoubleType(),
    "bytes": t.BinaryType(),
    "string": t.StringType(),
    "enum": t.StringType(),
    "fixed": t.BinaryType(),
}
_LOGICAL: Final[dict[tuple[str, str], t.DataType]] = {
    ("int", "date"): t.DateType(),
    ("long", "timestamp-millis"): t.TimestampType(),
    ("long", "timestamp-micros"): t.TimestampType(),
    ("long", "local-timestamp-millis"): t.TimestampNTZType(),
    ("long", "local-timestamp-micros"): t.TimestampNTZType(),
}
_LARGEST_PRECISION: Final = 38
_BAD_VALUE: Final = (  # what fastavro raises for bytes of another schema, or cut short
    ArithmeticError,
    AttributeError,
    EOFError,
    IndexError,
    KeyError,
    MemoryError,
    OSError,
    TypeError,
    ValueError,
    fastavro.read.SchemaResolutionError,
)


def read_schema(path: str) -> object:
    """Return the schema of a file. Raises OptionError."""
    try:
        return json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise OptionError("schema", f"{path}: {error.strerror}") from None
    except ValueError as error:
        raise OptionError("schema", f"{path} is no JSON: {error}") from None


def struct_of(schema: Any) -> t.StructType:
    """Return Spark's type of a record schema; all fields are nullable, as Spark reads them.

    Raises OptionError for a schema that is no record, or that has a type without a column type.
    """
    try:
        fastavro.parse_schema(plain(schema), _write_hint=False)
        struct = _type_of(schema, "value", named={}, open_records=())
    except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
        raise OptionError("schema", f"is no Avro schema: {error}") from None
    except (KeyError, TypeError) as error:
        raise OptionError("schema", f"is no Avro schema: {error!r} is missing or wrong") from None
    if not isinstance(struct, t.StructType):
        raise OptionError("schema", f"is of type {struct.simpleString()}: want an Avro record")
    return struct


def _type_of(
    schema: object, where: str, *, named: dict[str, object], open_records: tuple[str, ...]
) -> t.DataType:
    if isinstance(schema, list):
        return _union(schema, where, named=named, open_records=open_records)
    if isinstance(schema, dict):
        return _complex(schema, where, named=named, open_records=open_records)
    if schema in _PRIMITIVES:
        return _PRIMITIVES[schema]
    if schema not in named:
        raise OptionError("schema", f"{where}: type {schema} is not known")
    return _type_of(named[schema], where, named=named, open_records=open_records)


def _complex(
    schema: dict[str, object],
    where: str,
    *,
    named: dict[str, object],
    open_records: tuple[str, ...],
) -> t.DataType:
    kind = schema["type"]
    if "name" in schema:
        _name(schema, named)
    if kind in ("record", "error"):
        return _record(schema, where, named=named, open_records=open_records)
    if kind == "array":
        return t.ArrayType(
            _type_of(schema["items"], f"{where}[]", named=named, open_records=open_records)
        )
    if kind == "map":
        values = _type_of(schema["values"], f"{where}{{}}", named=named, open_records=open_records)
        return t.MapType(t.StringType(), values)
    if isinstance(kind, str):
        return _logical(schema, kind, where) or _type_of(
            kind, where, named=named, open_records=open_records
        )
    return _type_of(kind, where, named=named, open_records=open_records)


def _logical(schema: dict[str, Any], kind: str, where: str) -> t.DataType | None:
    logical = str(schema.get("logicalType"))
    if logical != "decimal" or kind not in ("bytes", "fixed"):
        return _LOGICAL.get((kind, logical))
    precision = int(schema["precision"])
    if precision > _LARGEST_PRECISION:
        raise OptionError("schema", f"{where}: decimals have at most {_LARGEST_PRECISION} digits")
    return t.DecimalType(precision, schema.get("scale", 0))


def _name(schema: Any, named: dict[str, Any]) -> None:
    """Make a named type known under its name, with and without its namespace."""
    short = schema["name"].rpartition(".")[2]
    for name in (schema["name"], short, f"{schema.get('namespace', '')}.{short}"):
        named[name] = schema


def _record(
    schema: Any, where: str, *, named: dict[str, Any], open_records: tuple[str, ...]
) -> t.StructType:
    name = schema["name"]
    if name in open_records:
        raise OptionError("schema", f"{where}: record {name} contains itself")
    fields = [
        t.StructField(
            field["name"],
            _type_of(
                field["type"],
                f"{where}.{field['name']}",
                named=named,
                open_records=(*open_records, name),
            ),
        )
        for field in schema["fields"]
    ]
    return t.StructType(fields)


def _union(
    branches: list[object], where: str, *, named: dict[str, object], open_records: tuple[str, ...]
) -> t.DataType:
    kinds = [branch for branch in branches if branch != "null"]
    if len(kinds) == 1:
        return _type_of(kinds[0], where, named=named, open_records=open_records)
    if set(map(str, kinds)) == {"int", "long"}:
        return t.LongType()
    if set(map(str, kinds)) == {"float", "double"}:
        return t.DoubleType()
    raise OptionError(
        "schema", f"{where}: a union of {len(kinds)} types has no column type; want null and one"
    )


def plain(schema: Any) -> Any:
    """Return a schema without the logical types that are stored as they are read."""
    if isinstance(schema, list):
        return [plain(branch) for branch in schema]
    if not isinstance(schema, dict):
        return schema
    stripped = {key: value for key, value in schema.items() if key != "logicalType"}
    for key in ("type", "items", "values"):
        if isinstance(stripped.get(key), dict | list):
            stripped[key] = plain(stripped[key])
    if isinstance(stripped.get("fields"), list):
        stripped["fields"] = [
            {**field, "type": plain(field.get("type"))} for field in stripped["fields"]
        ]
    logical = schema.get("logicalType")
    if logical == "decimal" or (str(schema.get("type")), str(logical)) in _LOGICAL:
        stripped["logicalType"] = logical
    return stripped


@define
class AvroParser:
    """A parser of values; it lives in one task.

    schema: the reader's. registry: where the schemas of values in wire format are; None: a value
    is Avro data alone, written with the reader's schema.
    """

    schema: Any
    registry: Registry | None
    _reader: Any = field(init=False)
    _writers: dict[int, Any] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        self._reader = fastavro.parse_schema(plain(self.schema))

    @classmethod
    def of(cls, schema: Any, registry: RegistrySettings | None) -> "AvroParser":
        """Return a parser with a registry client of its own."""
        return cls(schema, None if registry is None else Registry(registry))

    def parse(self, values: pa.Array) -> tuple[list[dict[str, object] | None], list[str | None]]:
        """Return the row of each value and why it has none; both are None for a null value."""
        rows: list[dict[str, Any] | None] = []
        reasons: list[str | None] = []
        for value in values.to_pylist():
            row, reason = (None, None) if value is None else self._parsed(value)
            rows.append(row)
            reasons.append(reason)
        return rows, reasons

    def _parsed(self, value: bytes) -> tuple[dict[str, Any] | None, str | None]:
        writer, data = self._reader, value
        try:
            if self.registry is not None:
                number, data = split_id(value)
                writer = self._writer(number)
            stream = io.BytesIO(data)
            row: Any = fastavro.schemaless_reader(stream, writer, self._reader)
        except UnknownSchemaError as error:
            return None, str(error)
        except _BAD_VALUE as error:
            return None, f"no Avro of this schema: {str(error) or type(error).__name__}"
        rest = len(data) - stream.tell()
        if rest:
            return None, f"no Avro of this schema: {rest} bytes are left over"
        return row, None

    def _writer(self, number: int) -> Any:
        writer = self._writers.get(number)
        if writer is None and self.registry is not None:
            schema = plain(self.registry.schema(number))
            try:
                writer = self._writers[number] = fastavro.parse_schema(schema)
            except (fastavro.schema.SchemaParseException, fastavro.schema.UnknownType) as error:
                raise UnknownSchemaError(f"schema {number} is no Avro schema: {error}") from None
        return writer


def columns_of(
    rows: Sequence[dict[str, object] | None], struct: pa.StructType
) -> tuple[list[pa.Array], dict[int, str]]:
    """Return a column for each field, and the rows that do not fit, which are null in all of them.

    Decimals with more digits than their schema, for example, do not fit.
    """
    try:
        columns = pa.array(rows, struct)
    except (pa.ArrowException, OverflowError, TypeError, ValueError):
        fitting, reasons = list(rows), {}
        for number, row in enumerate(rows):
            try:
                pa.array([row], struct)
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
                fitting[number], reasons[number] = None, f"does not fit its column: {error}"
        columns = pa.array(fitting, struct)
        return columns.flatten(), reasons
    return columns.flatten(), {}
