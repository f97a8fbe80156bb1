"""Columns of the views, and which of them a schema asks for."""

import pyarrow as pa
import pytest

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.options import VIEWS, LogOptions
from trio_kafka_spark.log.schemas import BATCHES, ddl, pruned, view_schema


def schema_of(**more):
    return view_schema(LogOptions.from_options({"path": "/a", "subscribe": "t", **more}))


def test_the_records_schema_has_the_columns_of_the_official_connector():
    assert ddl(schema_of()) == (
        "`key` binary, `value` binary, `topic` string, `partition` int, `offset` bigint, "
        "`timestamp` timestamp, `timestampType` int"
    )
    with_headers = ddl(schema_of(includeHeaders="true"))
    assert with_headers.endswith(", `headers` array<struct<key:string,value:binary>>")


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_of_a_view_has_a_spark_type(view):
    schema = schema_of(view=view)

    assert len(ddl(schema).split(", ")) == len(schema)
    assert "list" not in ddl(schema)


def test_the_batches_view_has_the_uncompressed_size_only_if_the_option_is_set():
    assert "uncompressed_size" in schema_of(view="batches", uncompressed="true").names
    assert "uncompressed_size" not in schema_of(view="batches").names


def test_a_pruned_schema_has_the_requested_columns_in_their_order():
    assert pruned(BATCHES, {"count": "int", "topic": "string"}) == pa.schema(
        [("count", pa.int32()), ("topic", pa.string())]
    )


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({"cuont": "int"}, "no column cuont: did you mean count"),
        ({"zzzz": "int"}, "want topic, partition"),
        ({"count": "bigint"}, "column count is int, found bigint"),
    ],
)
def test_an_error_names_a_requested_column_that_does_not_fit_the_view(columns, said):
    with pytest.raises(OptionError, match=said):
        pruned(BATCHES, columns)
