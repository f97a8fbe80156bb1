import pyarrow as pa
import pytest

from trio_kafka.records.columnar.schema import COLUMNS, arrow_schema


def test_arrow_schema_has_the_columns_and_types_of_sparks_kafka_source() -> None:
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


def test_arrow_schema_of_some_columns_has_the_requested_order() -> None:
    assert arrow_schema(["offset", "key"]) == pa.schema(
        [("offset", pa.int64()), ("key", pa.binary())]
    )


def test_unknown_column_is_refused_with_the_known_column_names() -> None:
    with pytest.raises(ValueError, match=r"column 'offsets', want some of key, .*, headers"):
        arrow_schema(["offsets"])


def test_duplicate_column_name_is_refused() -> None:
    with pytest.raises(ValueError, match="'key' is named twice"):
        arrow_schema(["key", "value", "key"])
