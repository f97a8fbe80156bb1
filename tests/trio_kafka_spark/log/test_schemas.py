"""Columns of the views, and which of them a schema asks for."""

import pyarrow as pa
import pytest

from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.log.options import VIEWS, LogOptions
from trio_kafka_spark.log.schemas import BATCHES, ddl, pruned, view_schema


def schema_of(**given):
    return view_schema(LogOptions.from_options({"path": "/a", "subscribe": "t", **given}))


def test_records_have_the_connector_s_columns():
    assert ddl(schema_of()) == (
        "`key` binary, `value` binary, `topic` string, `partition` int, `offset` bigint, "
        "`timestamp` timestamp, `timestampType` int"
    )
    with_headers = ddl(schema_of(includeHeaders="true"))
    assert with_headers.endswith(", `headers` array<struct<key:string,value:binary>>")


@pytest.mark.parametrize("view", VIEWS)
def test_every_column_of_a_view_has_a_type_of_spark(view):
    schema = schema_of(view=view)

    assert len(ddl(schema).split(", ")) == len(schema)
    assert "list" not in ddl(schema)


def test_the_uncompressed_size_is_a_column_if_asked():
    assert "uncompressed_size" in schema_of(view="batches", uncompressed="true").names
    assert "uncompressed_size" not in schema_of(view="batches").names


def test_columns_are_pruned_and_ordered():
    assert pruned(BATCHES, {"count": "int", "topic": "string"}) == pa.schema(
        [("count", pa.int32()), ("topic", pa.string())]
    )


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"cuont": "int"}, "no column cuont: did you mean count"),
        ({"zzzz": "int"}, "want topic, partition"),
        ({"count": "bigint"}, "column count is int, found bigint"),
    ],
)
def test_a_column_that_is_not_there_is_named(wanted, said):
    with pytest.raises(OptionError, match=said):
        pruned(BATCHES, wanted)
