import datetime as dt
import io
import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from pyspark.sql.pandas.types import to_arrow_schema

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.lake.avro import AvroParser, columns_of, plain, read_schema, struct_of
from trio_kafka_spark.lake.registry import Registry, RegistrySettings

ORDER = {
    "type": "record",
    "name": "Order",
    "namespace": "shop",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "note", "type": ["null", "string"], "default": None},
    ],
}
WIDE = {
    "type": "record",
    "name": "Wide",
    "fields": [
        {"name": "b", "type": "boolean"},
        {"name": "i", "type": "int"},
        {"name": "f", "type": "float"},
        {"name": "d", "type": "double"},
        {"name": "bs", "type": "bytes"},
        {"name": "s", "type": "string"},
        {"name": "e", "type": {"type": "enum", "name": "Color", "symbols": ["RED", "BLUE"]}},
        {"name": "e2", "type": "Color"},
        {"name": "fx", "type": {"type": "fixed", "name": "Four", "size": 4}},
        {"name": "a", "type": {"type": "array", "items": ["null", "int"]}},
        {"name": "m", "type": {"type": "map", "values": "long"}},
        {"name": "r", "type": {"type": "record", "name": "In", "fields": [
            {"name": "x", "type": {"type": "int", "logicalType": "date"}}]}},
        {"name": "dec", "type": {
            "type": "bytes", "logicalType": "decimal", "precision": 10, "scale": 2}},
        {"name": "tms", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "tus", "type": {"type": "long", "logicalType": "timestamp-micros"}},
        {"name": "ltus", "type": {"type": "long", "logicalType": "local-timestamp-micros"}},
        {"name": "time", "type": {"type": "int", "logicalType": "time-millis"}},
        {"name": "uuid", "type": {"type": "string", "logicalType": "uuid"}},
        {"name": "il", "type": ["int", "long"]},
    ],
}  # fmt: skip
WIDE_ROW = {
    "b": True, "i": 1, "f": 0.5, "d": 0.25, "bs": b"\x00", "s": "ä", "e": "RED", "e2": "BLUE",
    "fx": b"abcd", "a": [1, None], "m": {"k": 5}, "r": {"x": dt.date(2024, 2, 29)},
    "dec": Decimal("12.34"), "tms": dt.datetime(2024, 1, 1, 1, tzinfo=dt.UTC),
    "tus": dt.datetime(2024, 1, 1, 1, 0, 0, 7, tzinfo=dt.UTC),
    "ltus": dt.datetime(2024, 1, 1, 1, 0, 0, 7),  # noqa: DTZ001 - it has none
    "time": 1234, "uuid": "no-uuid", "il": 1 << 40,
}  # fmt: skip


def encoded(schema: Any, row: Any) -> bytes:
    stream = io.BytesIO()
    fastavro.schemaless_writer(stream, fastavro.parse_schema(plain(schema)), row)
    return stream.getvalue()


def in_wire_format(number: int, data: bytes) -> bytes:
    return b"\x00" + number.to_bytes(4, "big") + data


class FewSchemas(Registry):
    """A registry whose schemas are known already."""

    def __init__(self, **schemas: Any) -> None:
        super().__init__(RegistrySettings(url="http://127.0.0.1:1", attempts=1))
        self._schemas.update({int(name.lstrip("_")): schema for name, schema in schemas.items()})


def test_values_of_all_avro_types_are_parsed_into_columns() -> None:
    struct = struct_of(WIDE)
    arrow = pa.struct(list(to_arrow_schema(struct, timezone="UTC")))

    rows, reasons = AvroParser(WIDE, None).parse(pa.array([encoded(WIDE, WIDE_ROW), None]))
    columns, unfit = columns_of(rows, arrow)

    assert (reasons, unfit) == ([None, None], {})
    result = {name: column[0].as_py() for name, column in zip(arrow.names, columns, strict=True)}
    assert result == {**WIDE_ROW, "m": [("k", 5)]}
    assert all(column[1].as_py() is None for column in columns)
    assert struct.simpleString() == (
        "struct<b:boolean,i:int,f:float,d:double,bs:binary,s:string,e:string,e2:string,fx:binary,"
        "a:array<int>,m:map<string,bigint>,r:struct<x:date>,dec:decimal(10,2),tms:timestamp,"
        "tus:timestamp,ltus:timestamp_ntz,time:int,uuid:string,il:bigint>"
    )


@pytest.mark.parametrize(
    ("schema", "reason"),
    [
        ("long", "is of type bigint: want an Avro record"),
        ({"type": "record", "name": "R"}, "is no Avro schema"),
        ({"type": "record", "name": "R", "fields": [{"name": "x", "type": "Nope"}]}, "Nope"),
        (
            {"type": "record", "name": "R", "fields": [{"name": "x", "type": ["int", "string"]}]},
            r"value.x: a union of 2 types has no column type",
        ),
        (
            {"type": "record", "name": "R", "fields": [{"name": "x", "type": ["null", "R"]}]},
            "record R contains itself",
        ),
    ],
)
def test_an_avro_schema_that_fits_no_table_is_refused_with_the_place(
    schema: Any, reason: str
) -> None:
    with pytest.raises(OptionError, match=reason):
        struct_of(schema)


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"", "no Avro of this schema"),
        (b"\x02\x02\x7f", "no Avro of this schema"),
        (b"\x02\x09", "no Avro of this schema"),
        (encoded(ORDER, {"id": 1, "note": "x"}) + b"tail", "4 bytes are left over"),
        (b"\x02\x02\x04\xff\xfe", "no Avro of this schema"),
    ],
)
def test_an_invalid_avro_value_has_no_row_and_a_reason(value: bytes, reason: str) -> None:
    rows, reasons = AvroParser(ORDER, None).parse(pa.array([value]))

    assert rows == [None]
    assert reason in str(reasons[0])


def test_an_avro_value_is_resolved_from_its_writer_schema_to_the_reader_schema() -> None:
    older = {**ORDER, "fields": [{"name": "id", "type": "int"}, {"name": "gone", "type": "string"}]}
    registry = FewSchemas(_1=older, _2=ORDER)
    values = [
        in_wire_format(1, encoded(older, {"id": 5, "gone": "g"})),
        in_wire_format(2, encoded(ORDER, {"id": 6, "note": "n"})),
        b"\x01bad",
    ]

    rows, reasons = AvroParser(ORDER, registry).parse(pa.array(values))

    assert rows == [{"id": 5, "note": None}, {"id": 6, "note": "n"}, None]
    assert reasons[:2] == [None, None]
    assert "want magic byte 0" in str(reasons[2]) or "magic byte 1" in str(reasons[2])


def test_a_writer_schema_that_does_not_resolve_is_the_reason_of_a_bad_value() -> None:
    other = {"type": "record", "name": "shop.Order", "fields": [{"name": "y", "type": "string"}]}

    rows, reasons = AvroParser(ORDER, FewSchemas(_1=other, _2={"type": "nonsense"})).parse(
        pa.array([in_wire_format(1, encoded(other, {"y": "z"})), in_wire_format(2, b"")])
    )

    assert rows == [None, None]
    assert "no Avro of this schema" in str(reasons[0])
    assert "schema 2 is no Avro schema" in str(reasons[1])


def test_only_the_row_that_does_not_fit_its_column_is_null_with_a_reason() -> None:
    struct = pa.struct([("d", pa.decimal128(4, 2))])

    columns, reasons = columns_of([{"d": Decimal("1.25")}, {"d": Decimal("12345.6")}, None], struct)

    assert columns[0].to_pylist() == [Decimal("1.25"), None, None]
    assert list(reasons) == [1]
    assert "does not fit its column" in reasons[1]


def test_a_schema_file_is_read_and_a_malformed_or_missing_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "order.avsc"
    path.write_text(json.dumps(ORDER))
    (tmp_path / "bad.avsc").write_text("{")

    assert read_schema(str(path)) == ORDER
    with pytest.raises(OptionError, match=r"bad\.avsc is no JSON"):
        read_schema(str(tmp_path / "bad.avsc"))
    with pytest.raises(OptionError, match=r"none\.avsc: No such file"):
        read_schema(str(tmp_path / "none.avsc"))
