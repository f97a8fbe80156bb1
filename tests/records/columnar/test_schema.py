import pyarrow as pa
import pytest

from trio_kafka.records.columnar.schema import COLUMNS, arrow_schema


def test_types_are_those_of_sparks_kafka_source() -> None:
    assert COLUMNS == (
        "key",
        "value",
        "topic",
        "partition",
        "offset",
        "timestamp",
        "timestampType",
        "headers",
    )
    assert [str(field.type) for field in arrow_schema()] == [
        "binary",
        "binary",
        "string",
        "int32",
        "int64",
        "timestamp[us, tz=UTC]",
        "int32",
        "list<item: struct<key: string, value: binary>>",
    ]
    assert all(field.nullable for field in arrow_schema())


def test_a_part_of_the_columns_keeps_its_order() -> None:
    assert arrow_schema(["offset", "key"]) == pa.schema(
        [("offset", pa.int64()), ("key", pa.binary())]
    )


def test_an_unknown_column_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ValueError, match=r"column 'offsets', want some of key, .*, headers"):
        arrow_schema(["offsets"])


def test_a_column_may_not_stand_there_twice() -> None:
    with pytest.raises(ValueError, match="'key' is named twice"):
        arrow_schema(["key", "value", "key"])
