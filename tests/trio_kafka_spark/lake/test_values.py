import pytest

pytest.importorskip("pyspark", reason="pyspark is not installed: make test SPARK=yes")

from pyspark.sql.types import ArrayType, IntegerType, StructType

from tests.trio_kafka_spark.lake.test_registry import registry_with, schema_answer
from trio_kafka_spark.client.errors import OptionError
from trio_kafka_spark.lake.registry import RegistrySettings
from trio_kafka_spark.lake.values import (
    Avro,
    dead_letter_schema,
    json_of,
    parsed_schema,
    raw_schema,
)


def test_a_raw_table_has_the_columns_of_the_records() -> None:
    assert raw_schema(headers=True).simpleString() == (
        "struct<key:binary,value:binary,topic:string,partition:int,offset:bigint,"
        "timestamp:timestamp,headers:array<struct<key:string,value:binary>>>"
    )
    assert raw_schema(headers=False).names[-1] == "timestamp"
    assert dead_letter_schema(headers=False).names[:2] == ["error", "key"]


def test_a_parsed_table_has_the_fields_and_prefixed_columns_of_the_records() -> None:
    inner = StructType().add("x", ArrayType(IntegerType(), containsNull=False), nullable=False)
    value = StructType().add("id", "long", nullable=False).add("in", inner).add("offset", "integer")

    schema = parsed_schema(value, headers=False)

    assert schema.names == [
        "id",
        "in",
        "offset",
        "kafka_key",
        "kafka_topic",
        "kafka_partition",
        "kafka_offset",
        "kafka_timestamp",
    ]
    assert "false" not in str(json_of(schema)).lower()


@pytest.mark.parametrize("name", ["kafka_offset", "Kafka_Key", "kafka_error", "kafka_value"])
def test_a_field_with_the_name_of_another_column_is_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"field {name} has the name of another column"):
        parsed_schema(StructType().add(name, "long"), headers=False)


def test_two_fields_that_differ_only_in_case_are_refused() -> None:
    with pytest.raises(OptionError, match="field ID has the name"):
        parsed_schema(StructType().add("id", "long").add("ID", "long"), headers=False)


def test_the_reader_schema_is_the_given_schema_or_the_newest_of_the_subject() -> None:
    assert Avro(schema={"type": "record"}).reader_schema() == {"type": "record"}
    with registry_with({"/subjects/s/versions/latest": schema_answer("int")}) as served:
        registry = RegistrySettings(url=served.url)

        assert Avro(registry=registry, subject="s").reader_schema() == "int"
        with pytest.raises(OptionError, match="option subject: the registry has no"):
            Avro(registry=registry, subject="none").reader_schema()
    with pytest.raises(OptionError, match="want a schema, or a registry and a subject"):
        Avro().reader_schema()
