from types import SimpleNamespace
from typing import Any

import pytest

from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.sink.epochs import Run
from trio_kafka_spark.sink.options import (
    BAD_MODE,
    BAD_QUERY,
    HEADERS,
    SinkOptions,
    TransactionOptions,
    check_columns,
    check_mode,
)

BOOTSTRAP = {"kafka.bootstrap.servers": "localhost:9092"}


def schema(**types: str) -> Any:
    """The used part of Spark's StructType."""
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


def test_option_names_are_case_insensitive() -> None:
    sink_options = options(TOPIC="t", maxrecordspersecond="12.5", timestampColumn="at")

    assert (sink_options.topic, sink_options.records_per_second, sink_options.timestamp_column) == (
        "t",
        12.5,
        "at",
    )


def test_an_unknown_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"option topik: is no option of this sink; did you mean"):
        options(topik="t")
    with pytest.raises(OptionError, match="did you mean maxRecordsPerSecond"):
        options(maxRecordPerSecond="1")


def test_options_of_sources_and_of_spark_are_ignored() -> None:
    sink_options = options(topic="t", subscribe="x", checkpointLocation="/c", includeHeaders="true")

    assert sink_options == options(topic="t")


def test_transactions_have_a_prefix_and_a_timeout() -> None:
    assert options(topic="t").transactions is None
    assert options(topic="t", exactlyOnce="False").transactions is None
    assert options(topic="t", exactlyOnce="true").transactions == TransactionOptions(
        prefix="trio-kafka-spark", timeout_ms=600_000
    )
    named = options(
        exactlyOnce="TRUE", transactionalIdPrefix="a.b_c-1", transactionTimeoutMs="1000"
    )
    assert named.transactions == TransactionOptions(prefix="a.b_c-1", timeout_ms=1000)
    assert named.transactions.ids_of(Run("query", "run")) == "a.b_c-1-query-run-"


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("exactlyOnce", "yes", "'yes': want true or false"),
        ("transactionalIdPrefix", "", "want 1 to 100 letters"),
        ("transactionalIdPrefix", "a b", "want 1 to 100 letters"),
        ("transactionalIdPrefix", "a" * 101, "want 1 to 100 letters"),
        ("transactionTimeoutMs", "999", "want 1000 to"),
        ("transactionTimeoutMs", "2147483648", "to 2147483647"),
        ("transactionTimeoutMs", "1 minute", "is no whole number"),
    ],
)
def test_a_wrong_option_of_transactions_is_refused_by_name(
    name: str, value: str, text: str
) -> None:
    with pytest.raises(OptionError, match=f"option {name}: .*{text}"):
        options(topic="t", **{name: value})


@pytest.mark.parametrize("rate", ["0", "-1", "x", "inf", "nan"])
def test_a_rate_that_is_no_positive_number_is_refused(rate: str) -> None:
    with pytest.raises(OptionError, match=r"option maxRecordsPerSecond: .* want a number above 0"):
        options(maxRecordsPerSecond=rate)


def test_a_write_without_bootstrap_servers_is_refused() -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers"):
        SinkOptions.from_options({"topic": "t"})


def test_columns_of_the_official_connector_are_accepted_and_others_are_ignored() -> None:
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


def test_a_query_without_topic_column_and_topic_option_is_refused() -> None:
    with pytest.raises(SourceError) as caught:
        check_columns(schema(value="string"), options())

    assert caught.value.condition == BAD_QUERY
    assert str(caught.value) == (
        "[_LEGACY_ERROR_TEMP_3080] topic option required when no 'topic' attribute is present."
        " Use the topic option for setting a topic."
    )


def test_a_query_without_a_value_column_is_refused() -> None:
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
def test_an_error_names_a_column_of_a_wrong_type_and_the_expected_type(
    column: str, kind: str, want: str
) -> None:
    types = {"value": "string", "topic": "string", column: kind}

    with pytest.raises(SourceError) as caught:
        check_columns(schema(**types), options())

    assert caught.value.condition == BAD_QUERY
    assert f"{column} attribute unsupported type {kind}. {column} must be a(n) {want}" in str(
        caught.value
    )


def test_a_topic_column_can_have_any_type_if_the_topic_option_is_set() -> None:
    check_columns(schema(value="string", topic="int"), options(topic="t"))


def test_a_timestamp_column_that_is_missing_or_of_another_type_is_refused() -> None:
    sink_options = options(topic="t", timestampColumn="at")

    check_columns(schema(value="string", at="timestamp"), sink_options)
    with pytest.raises(OptionError, match="column at is bigint: want a column of type timestamp"):
        check_columns(schema(value="string", at="bigint"), sink_options)
    with pytest.raises(OptionError, match="column at is not there"):
        check_columns(schema(value="string"), sink_options)


def test_the_save_mode_overwrite_is_refused() -> None:
    check_mode(overwrite=False)
    with pytest.raises(SourceError, match="Save mode overwrite not allowed for Kafka") as caught:
        check_mode(overwrite=True)

    assert caught.value.condition == BAD_MODE
