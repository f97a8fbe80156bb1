"""JSON of partitions and offsets, as checkpoints hold it."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trio_kafka.model import TopicPartition
from trio_kafka_spark.source.offsets import (
    as_json,
    beginning_in,
    described,
    from_json,
    listed,
    parse_offsets,
    parse_partitions,
    parse_timestamps,
    with_beginning,
)

A0, A1, A10, B0 = (
    TopicPartition("a", 0),
    TopicPartition("a", 1),
    TopicPartition("a", 10),
    TopicPartition("b", 0),
)
offsets = st.dictionaries(
    st.builds(TopicPartition, st.text(min_size=1), st.integers(0, 2**31 - 1)),
    st.integers(-2, 2**63 - 1),
)


def test_offsets_are_parsed_with_minus_2_for_earliest_and_minus_1_for_latest() -> None:
    assert parse_offsets('{"a":{"0":23,"1":-1},"b":{"0":-2}}') == {A0: 23, A1: -1, B0: -2}


def test_parsed_partitions_are_sorted_without_duplicates() -> None:
    assert parse_partitions('{"b":[0],"a":[1,0,1]}') == [A0, A1, B0]


def test_offsets_are_written_sorted_by_topic_and_partition() -> None:
    text = json.dumps(as_json({A10: 3, B0: 4, A1: 2, A0: 1}))

    assert text == '{"a": {"0": 1, "1": 2, "10": 3}, "b": {"0": 4}}'
    assert described({B0: 4, A0: 1}) == '{"a":{"0":1},"b":{"0":4}}'
    assert listed({B0, A0}) == "[a-0, b-0]"


@given(offsets)
def test_offsets_survive_being_written_as_json(some: dict[TopicPartition, int]) -> None:
    assert from_json(json.loads(json.dumps(as_json(some)))) == some


@pytest.mark.parametrize(
    "text",
    [
        "",
        "earliestt",
        "[1]",
        "{",
        '{"a":1}',
        '{"a":[0]}',
        '{"a":{"x":1}}',
        '{"a":{"-1":1}}',
        '{"a":{"0":"soon"}}',
        '{"a":{"0":1.5}}',
        '{"a":{"0":true}}',
        '{"a":{"0":null}}',
        '{"a":{"0":9223372036854775808}}',
        '{"a":{"2147483648":1}}',
        "[" * 100_000,
    ],
)
def test_malformed_offsets_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r'expected JSON such as \{"topicA":\{"0":23'):
        parse_offsets(text)


@pytest.mark.parametrize("text", ['{"a":0}', '{"a":["x"]}', '{"a":[-1]}', '["a"]', '{"a":{"0":1}}'])
def test_malformed_partitions_are_refused_with_an_example(text: str) -> None:
    with pytest.raises(ValueError, match=r'expected JSON such as \{"topicA":\[0,1\]'):
        parse_partitions(text)


def test_an_offset_below_minus_2_is_refused_with_its_partition() -> None:
    with pytest.raises(ValueError, match=r"found offset -3 for a-0; expected 0 or more"):
        parse_offsets('{"a":{"0":-3}}')


def test_a_timestamp_is_parsed_as_milliseconds_and_refused_if_negative() -> None:
    assert parse_timestamps('{"a":{"0":1700000000000}}') == {A0: 1_700_000_000_000}
    with pytest.raises(ValueError, match=r"found timestamp -1 for a-0"):
        parse_timestamps('{"a":{"0":-1}}')


def test_an_error_quotes_a_long_text_only_in_part() -> None:
    with pytest.raises(ValueError) as caught:
        parse_offsets("x" * 10_000)

    assert len(str(caught.value)) < 400


@given(offsets, offsets)
def test_the_end_of_a_first_batch_holds_its_offsets_and_its_beginning(
    end: dict[TopicPartition, int], beginning: dict[TopicPartition, int]
) -> None:
    written = json.loads(json.dumps(with_beginning(as_json(end), beginning)))

    assert from_json(written) == end
    assert beginning_in(written) == beginning
    assert all(partitions for name, partitions in written.items() if name in as_json(end))


@given(offsets)
def test_the_end_of_a_later_batch_has_no_beginning(end: dict[TopicPartition, int]) -> None:
    assert beginning_in(as_json(end)) is None


def test_a_malformed_beginning_is_refused() -> None:
    with pytest.raises(ValueError, match="expected JSON such as"):
        beginning_in({"a": {"0": 1}, "began at {": {}})
