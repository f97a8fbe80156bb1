"""Columns of a read."""

import pytest
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import IntegerType, StringType, StructField, StructType, TimestampNTZType

from trio_kafka.records.columnar import arrow_schema
from trio_kafka_spark.source.schema import TYPES, SchemaError, columns_of, full_schema


def test_the_schema_has_headers_only_with_the_include_headers_option() -> None:
    assert full_schema(include_headers=False).names == list(TYPES)[:-1]
    assert full_schema(include_headers=True).names == list(TYPES)


def test_arrow_columns_have_exactly_the_types_that_spark_expects() -> None:
    schema = full_schema(include_headers=True)

    assert to_arrow_schema(schema, timezone="UTC").equals(arrow_schema(schema.names))


def test_a_given_schema_selects_columns_and_their_order() -> None:
    schema = StructType([StructField(name, TYPES[name]) for name in ("offset", "headers", "key")])

    assert columns_of(schema) == ("offset", "headers", "key")


def test_a_column_declared_as_not_null_is_accepted() -> None:
    assert columns_of(StructType([StructField("offset", TYPES["offset"], False)])) == ("offset",)


@pytest.mark.parametrize(
    ("field", "reason"),
    [
        (StructField("values", StringType()), "found column 'values'; expected one of key, value"),
        (StructField("value", StringType()), "found column value string; expected binary"),
        (StructField("offset", IntegerType()), "found column offset int; expected bigint"),
        (
            StructField("timestamp", TimestampNTZType()),
            "found column timestamp timestamp_ntz; expected timestamp",
        ),
    ],
)
def test_an_error_names_a_wrong_column_and_its_types(field: StructField, reason: str) -> None:
    with pytest.raises(SchemaError, match=reason):
        columns_of(StructType([field]))


def test_a_schema_without_columns_or_with_duplicates_is_refused() -> None:
    twice = StructField("key", TYPES["key"])
    with pytest.raises(SchemaError, match="found no column"):
        columns_of(StructType([]))
    with pytest.raises(SchemaError, match="a column twice in key, key"):
        columns_of(StructType([twice, twice]))
