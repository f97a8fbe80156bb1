from types import SimpleNamespace
from typing import Any

import pytest

from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.sink.options import (
    BAD_MODE,
    BAD_QUERY,
    HEADERS,
    SinkOptions,
    check_columns,
    check_mode,
)

BOOTSTRAP = {"kafka.bootstrap.servers": "localhost:9092"}


def schema(**types: str) -> Any:
    """What is used of Spark's StructType."""
    return SimpleNamespace(
        fields=[
            SimpleNamespace(
                name=name, dataType=SimpleNamespace(simpleString=lambda kind=kind: kind)
            )
            for name, kind in types.items()
        ]
    )


def options(**ours: str) -> SinkOptions:
    return SinkOptions.from_options({**BOOTSTRAP, **ours})


def test_names_of_options_are_read_in_any_case() -> None:
    made = options(TOPIC="t", maxrecordspersecond="12.5", timestampColumn="at")

    assert (made.topic, made.records_per_second, made.timestamp_column) == ("t", 12.5, "at")


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"option topik: is no option of this sink; did you mean"):
        options(topik="t")
    with pytest.raises(OptionError, match="did you mean maxRecordsPerSecond"):
        options(maxRecordPerSecond="1")


def test_options_of_sources_and_of_spark_change_nothing() -> None:
    made = options(topic="t", subscribe="x", checkpointLocation="/c", includeHeaders="true")

    assert made == options(topic="t")


def test_exactly_once_is_refused_by_name() -> None:
    with pytest.raises(OptionError, match=r"option exactlyOnce: is not supported: .* transactions"):
        options(topic="t", exactlyOnce="true")
    with pytest.raises(OptionError, match="option exactlyOnce: 'yes': want true or false"):
        options(topic="t", exactlyOnce="yes")
    assert options(topic="t", exactlyOnce="False").topic == "t"


@pytest.mark.parametrize("rate", ["0", "-1", "x", "inf", "nan"])
def test_a_rate_that_is_no_positive_number_is_refused(rate: str) -> None:
    with pytest.raises(OptionError, match=r"option maxRecordsPerSecond: .* want a number above 0"):
        options(maxRecordsPerSecond=rate)


def test_without_brokers_there_is_no_write() -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers"):
        SinkOptions.from_options({"topic": "t"})


def test_columns_of_the_connector_pass_and_others_are_not_looked_at() -> None:
    check_columns(
        schema(
            value="binary",
            key="string",
            topic="string",
            partition="int",
            headers=HEADERS,
            offset="bigint",
            timestamp="timestamp",
        ),
        options(),
    )
    check_columns(schema(value="string collate UTF8_LCASE"), options(topic="t"))


def test_without_topic_column_and_option_the_query_is_refused() -> None:
    with pytest.raises(SourceError) as caught:
        check_columns(schema(value="string"), options())

    assert caught.value.condition == BAD_QUERY
    assert str(caught.value) == (
        "[_LEGACY_ERROR_TEMP_3080] topic option required when no 'topic' attribute is present."
        " Use the topic option for setting a topic."
    )


def test_without_a_value_the_query_is_refused() -> None:
    with pytest.raises(SourceError, match=r"Required attribute 'value' not found.*are key,"):
        check_columns(schema(key="string", Value="string"), options(topic="t"))


@pytest.mark.parametrize(
    ("column", "kind", "want"),
    [
        ("value", "bigint", "string or binary"),
        ("key", "int", "string or binary"),
        ("topic", "binary", "string"),
        ("partition", "bigint", "int"),
        ("headers", "array<struct<key:string,value:string>>", HEADERS),
    ],
)
def test_a_column_of_a_wrong_type_is_named_with_what_was_found_and_expected(
    column: str, kind: str, want: str
) -> None:
    types = {"value": "string", "topic": "string", column: kind}

    with pytest.raises(SourceError) as caught:
        check_columns(schema(**types), options())

    assert caught.value.condition == BAD_QUERY
    assert f"{column} attribute unsupported type {kind}. {column} must be a(n) {want}" in str(
        caught.value
    )


def test_the_topic_column_may_be_of_any_type_where_the_option_is_given() -> None:
    check_columns(schema(value="string", topic="int"), options(topic="t"))


def test_the_timestamp_column_must_be_there_and_be_a_timestamp() -> None:
    made = options(topic="t", timestampColumn="at")

    check_columns(schema(value="string", at="timestamp"), made)
    with pytest.raises(OptionError, match="column at is bigint: want a column of type timestamp"):
        check_columns(schema(value="string", at="bigint"), made)
    with pytest.raises(OptionError, match="column at is not there"):
        check_columns(schema(value="string"), made)


def test_only_append_is_a_save_mode() -> None:
    check_mode(overwrite=False)
    with pytest.raises(SourceError, match="Save mode overwrite not allowed for Kafka") as caught:
        check_mode(overwrite=True)

    assert caught.value.condition == BAD_MODE
