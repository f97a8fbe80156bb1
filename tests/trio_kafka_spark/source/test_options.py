"""Options of a read."""

import logging
import pickle
from typing import Final

import pytest

from trio_kafka.model import TopicPartition
from trio_kafka_spark.client.errors import OptionError, SourceError
from trio_kafka_spark.source.options import OPTIONS, At, Mode, ReadOptions, parse

WHERE = {"kafka.bootstrap.servers": "localhost:9092"}
A0, A1 = TopicPartition("a", 0), TopicPartition("a", 1)
# What Spark's own connector refuses beside `subscribe`; test_equality.py asks it.
REFUSED: Final = (
    {"subscribePattern": "x"},
    {"subscribe": " "},
    {"startingOffsets": "latest"},
    {"startingOffsets": "now"},
    {"endingOffsets": "earliest"},
    {"endingOffsets": '{"eq-plain-a":{"0":-2,"1":1}}'},
    {"startingTimestamp": "soon"},
    {"startingOffsetsByTimestamp": "5"},
    {"startingOffsetsByTimestampStrategy": "earliest"},
    {"minPartitions": "0"},
    {"maxRecordsPerPartition": "0"},
    {"failOnDataLoss": "perhaps"},
    {"includeHeaders": "perhaps"},
    {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
    {"kafka.auto.offset.reset": "earliest"},
    {"kafka.key.deserializer": "x"},
    {"kafka.value.deserializer": "x"},
    {"kafka.enable.auto.commit": "true"},
    {"kafka.interceptor.classes": "x"},
)


def batch(**more: str) -> ReadOptions:
    return parse({**WHERE, "subscribe": "a", **more}, Mode.BATCH)


def stream(**more: str) -> ReadOptions:
    return parse({**WHERE, "subscribe": "a", **more}, Mode.STREAM)


def test_defaults_equal_the_defaults_of_the_official_connector() -> None:
    options = batch()

    assert (options.start.at, options.end.at) == (At.EARLIEST, At.LATEST)
    assert stream().start.at is At.LATEST
    assert options.fail_on_data_loss
    assert not options.include_headers
    assert not options.latest_if_no_match
    assert not options.pushdown
    assert options.min_partitions is None
    assert options.max_trigger_delay_s == 900.0
    assert options.client.poll_timeout_ms == 120_000
    assert (options.offset_attempts, options.offset_retry_s) == (3, 1.0)


@pytest.mark.parametrize("options", REFUSED, ids=str)
def test_options_that_the_official_connector_refuses_are_refused(options: dict[str, str]) -> None:
    with pytest.raises(OptionError, match=r"option \w+"):
        batch(**options)


def test_option_names_are_case_insensitive() -> None:
    options = parse(
        {"KAFKA.Bootstrap.Servers": "h:1", "SUBSCRIBEpattern": " x.* ", "FAILonDATALOSS": "False"},
        Mode.BATCH,
    )

    assert options.topics.pattern == "x.*"
    assert not options.fail_on_data_loss


def test_topics_are_separated_by_commas() -> None:
    assert batch(subscribe=" b , a,,b").topics.names == ("b", "a")


def test_partitions_are_assigned_as_json() -> None:
    options = parse({**WHERE, "assign": '{"a":[1,0]}'}, Mode.BATCH)

    assert options.topics.partitions == (A0, A1)


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "found none; expected exactly one of subscribe, subscribePattern, assign"),
        ({"subscribe": "a", "assign": "{}"}, "found subscribe and assign"),
        ({"subscribe": " , "}, "expected topics, separated by commas"),
        ({"subscribePattern": " "}, "expected a regular expression"),
        ({"assign": "a"}, "option assign: found 'a'; expected JSON"),
        ({"assign": "{}"}, "names no partition"),
    ],
)
def test_exactly_one_of_subscribe_subscribe_pattern_and_assign_is_required(
    options: dict[str, str], reason: str
) -> None:
    with pytest.raises(OptionError, match=reason):
        parse({**WHERE, **options}, Mode.BATCH)


def test_an_unknown_option_is_an_error_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"failondatalos: .*did you mean failOnDataLoss\?"):
        batch(failOnDataLos="true")
    with pytest.raises(OptionError, match=r"did you mean kafka\.bootstrap\.servers\?"):
        batch(**{"bootstrap.servers": "h:1"})
    with pytest.raises(OptionError, match=r"unknown option of format trio-kafka$"):
        batch(zzz="1")


def test_the_topic_option_of_writes_is_accepted_for_reads() -> None:
    batch(topic="out")


def test_bootstrap_servers_are_required() -> None:
    with pytest.raises(OptionError, match=r"kafka\.bootstrap\.servers: missing"):
        parse({"subscribe": "a"}, Mode.BATCH)


@pytest.mark.parametrize("value", ["latest", "LATEST ", '{"a":{"0":-1}}'])
def test_a_batch_cannot_start_at_the_latest_offsets(value: str) -> None:
    with pytest.raises(OptionError, match="startingOffsets: a batch cannot start at the latest"):
        batch(startingOffsets=value)
    stream(startingOffsets=value)


@pytest.mark.parametrize("value", ["earliest", '{"a":{"0":-2}}'])
def test_a_batch_cannot_end_at_the_earliest_offsets(value: str) -> None:
    with pytest.raises(OptionError, match="endingOffsets: a batch cannot end at the earliest"):
        batch(endingOffsets=value)


@pytest.mark.parametrize("name", ["endingOffsets", "endingOffsetsByTimestamp"])
def test_ending_offsets_of_a_stream_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=f"{name}: a stream has no end"):
        stream(**{name: '{"a":{"0":5}}'})


def test_a_starting_timestamp_overrides_timestamps_by_partition_and_offsets() -> None:
    options = {
        "startingOffsets": '{"a":{"0":1}}',
        "startingOffsetsByTimestamp": '{"a":{"0":2}}',
        "startingTimestamp": "3",
    }

    assert batch(**options).start.timestamp == 3
    del options["startingTimestamp"]
    assert batch(**options).start.at is At.TIMESTAMPS
    assert batch(**options).start.numbers == {A0: 2}
    del options["startingOffsetsByTimestamp"]
    assert batch(**options).start.numbers == {A0: 1}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("startingTimestamp", "soon"),
        ("startingTimestamp", "-1"),
        ("startingOffsets", "erliest"),
        ("endingOffsetsByTimestamp", "5"),
        ("startingOffsetsByTimestampStrategy", "earliest"),
        ("failOnDataLoss", "yes"),
        ("includeHeaders", "1"),
        ("minPartitions", "0"),
        ("minPartitions", "1.5"),
        ("maxRecordsPerPartition", "0"),
        ("maxOffsetsPerTrigger", "many"),
        ("maxTriggerDelay", "-5m"),
        ("maxTriggerDelay", "5 weeks"),
        ("kafkaConsumer.pollTimeoutMs", "-1"),
        ("fetchOffset.numRetries", "x"),
        ("pushdown", "on"),
    ],
)
def test_a_malformed_value_is_refused_with_the_name_of_its_option(name: str, value: str) -> None:
    with pytest.raises(OptionError) as caught:
        batch(**{name: value})

    assert caught.value.option == name
    assert "expected" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("250", 0.25), ("30s", 30.0), ("15m", 900.0), ("2 min", 120.0), ("1H", 3600.0), ("1d", 86400)],
)
def test_the_maximum_trigger_delay_is_parsed_with_the_units_of_spark(
    text: str, seconds: float
) -> None:
    assert stream(maxTriggerDelay=text).max_trigger_delay_s == seconds


def test_min_offsets_per_trigger_above_the_maximum_is_refused() -> None:
    stream(minOffsetsPerTrigger="5", maxOffsetsPerTrigger="5")
    with pytest.raises(OptionError, match="found 6, which is above maxOffsetsPerTrigger=5"):
        stream(minOffsetsPerTrigger="6", maxOffsetsPerTrigger="5")


def test_limits_of_streams_are_ignored_in_a_batch_with_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.WARNING):
        batch(maxOffsetsPerTrigger="5", maxTriggerDelay="1s")

    assert [record.args[0] for record in caplog.records] == [
        "maxOffsetsPerTrigger",
        "maxTriggerDelay",
    ]


def test_starting_and_ending_offsets_of_different_partitions_are_refused() -> None:
    with pytest.raises(SourceError) as caught:
        batch(startingOffsets='{"a":{"0":1}}', endingOffsets='{"a":{"1":1}}')

    condition = "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_START_OFFSET_AND_END_OFFSET"
    assert str(caught.value).startswith(f"[{condition}] the start names [a-0] and the end [a-1]")


@pytest.mark.parametrize("kind", ["Offsets", "OffsetsByTimestamp"])
def test_a_starting_offset_or_timestamp_above_the_ending_value_is_refused(kind: str) -> None:
    batch(**{f"starting{kind}": '{"a":{"0":5}}', f"ending{kind}": '{"a":{"0":5}}'})
    with pytest.raises(SourceError) as caught:
        batch(**{f"starting{kind}": '{"a":{"0":5}}', f"ending{kind}": '{"a":{"0":4}}'})

    assert caught.value.condition == "UNRESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET"
    assert "a-0" in str(caught.value)


def test_an_ending_offset_of_latest_is_accepted_with_any_starting_offset() -> None:
    batch(startingOffsets='{"a":{"0":5}}', endingOffsets='{"a":{"0":-1}}')


def test_options_of_batches_and_of_streams_are_accepted_before_the_mode_is_known() -> None:
    for name, value in (("startingOffsets", "latest"), ("endingOffsets", "latest")):
        parse({**WHERE, "subscribe": "a", name: value}, Mode.EITHER)


@pytest.mark.parametrize(
    "name",
    [
        "kafka.auto.offset.reset",
        "kafka.key.deserializer",
        "kafka.value.deserializer",
        "kafka.enable.auto.commit",
        "kafka.interceptor.classes",
    ],
)
def test_client_options_that_the_official_connector_refuses_are_refused(name: str) -> None:
    with pytest.raises(OptionError, match=name.replace(".", r"\.")):
        batch(**{name: "earliest"})


def test_the_text_of_options_holds_no_password() -> None:
    secret = "s3cr3t"
    options = batch(
        **{
            "kafka.security.protocol": "SASL_PLAINTEXT",
            "kafka.sasl.mechanism": "PLAIN",
            "kafka.sasl.jaas.config": "org.apache.kafka.common.security.plain.PlainLoginModule "
            f'required username="u" password="{secret}";',
        }
    )

    assert secret not in repr(options)
    assert secret not in str(options)
    assert pickle.loads(pickle.dumps(options)) == options


def test_option_names_differ_in_more_than_case() -> None:
    assert len({name.lower() for name in OPTIONS}) == len(OPTIONS)
