"""Filters that bound what is read."""

from datetime import UTC, datetime
from typing import Any

import pytest
from pyspark.sql.datasource import (
    EqualNullSafe,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    IsNotNull,
    IsNull,
    LessThan,
    LessThanOrEqual,
    Not,
    StringContains,
    StringEndsWith,
    StringStartsWith,
)

from trio_kafka.model import TopicPartition
from trio_kafka_spark.source.filters import Bounds

OFFSET, PARTITION, TOPIC, TIMESTAMP = ("offset",), ("partition",), ("topic",), ("timestamp",)
NOON = datetime(2026, 1, 1, 12, 0, 0, 1500, tzinfo=UTC)


@pytest.mark.parametrize(
    ("predicate", "start", "stop"),
    [
        (EqualTo(OFFSET, 5), 5, 6),
        (GreaterThan(OFFSET, 5), 6, 2**63 - 1),
        (GreaterThanOrEqual(OFFSET, 5), 5, 2**63 - 1),
        (LessThan(OFFSET, 5), 0, 5),
        (LessThanOrEqual(OFFSET, 5), 0, 6),
    ],
)
def test_filters_on_the_offset_narrow_the_range(predicate: Filter, start: int, stop: int) -> None:
    bounds = Bounds()

    assert bounds.push([predicate]) == []
    assert (bounds.start, bounds.stop) == (start, stop)


def test_several_offset_filters_give_the_intersection_of_their_ranges() -> None:
    bounds = Bounds()
    bounds.push([GreaterThan(OFFSET, 3), LessThan(OFFSET, 20), GreaterThan(OFFSET, 7)])

    assert (bounds.start, bounds.stop) == (8, 20)


def test_a_filter_on_a_list_of_offsets_narrows_the_range_and_stays_with_spark() -> None:
    bounds = Bounds()
    predicate = In(OFFSET, (9, 4))

    assert bounds.push([predicate]) == [predicate]
    assert (bounds.start, bounds.stop) == (4, 10)


@pytest.mark.parametrize(
    ("predicate", "admitted"),
    [
        (EqualTo(PARTITION, 1), ["ab-1", "cd-1"]),
        (In(PARTITION, (0, 2)), ["ab-0", "cd-0"]),
        (LessThan(PARTITION, 1), ["ab-0", "cd-0"]),
        (Not(EqualTo(PARTITION, 1)), ["ab-0", "cd-0"]),
        (EqualTo(TOPIC, "ab"), ["ab-0", "ab-1"]),
        (In(TOPIC, ("cd", "x")), ["cd-0", "cd-1"]),
        (Not(In(TOPIC, ("cd", "x"))), ["ab-0", "ab-1"]),
        (StringStartsWith(TOPIC, "a"), ["ab-0", "ab-1"]),
        (StringEndsWith(TOPIC, "d"), ["cd-0", "cd-1"]),
        (StringContains(TOPIC, "b"), ["ab-0", "ab-1"]),
        (GreaterThan(TOPIC, "b"), ["cd-0", "cd-1"]),
    ],
)
def test_filters_on_topic_and_partition_select_partitions(
    predicate: Filter, admitted: list[str]
) -> None:
    bounds = Bounds()

    assert bounds.push([predicate]) == []
    partitions = [TopicPartition(name, number) for name in ("ab", "cd") for number in (0, 1)]
    assert [str(tp) for tp in partitions if bounds.admits(tp)] == admitted


def test_a_lower_timestamp_bound_is_taken_in_milliseconds_and_stays_with_spark() -> None:
    bounds = Bounds()
    pushed: list[Filter] = [GreaterThan(TIMESTAMP, NOON), LessThan(TIMESTAMP, NOON)]

    assert bounds.push(pushed) == pushed
    assert bounds.since_ms == 1_767_268_800_001


def test_not_null_filters_on_columns_that_are_never_null_are_taken() -> None:
    bounds = Bounds()
    taken: list[Filter] = [IsNotNull((name,)) for name in ("topic", "partition", "offset")]

    assert bounds.push([*taken, IsNotNull(("key",))]) == [IsNotNull(("key",))]


@pytest.mark.parametrize(
    "predicate",
    [
        EqualTo(("value",), b"x"),
        EqualTo(("headers", "key"), "x"),
        EqualNullSafe(TOPIC, "ab"),
        IsNull(TOPIC),
        EqualTo(PARTITION, True),
        EqualTo(PARTITION, None),
        EqualTo(OFFSET, 1.5),
        Not(LessThan(OFFSET, 5)),
        In(OFFSET, ()),
        In(TOPIC, ("a", None)),
        EqualTo(TIMESTAMP, NOON.replace(tzinfo=None)),
        LessThan(TIMESTAMP, NOON),
        Not(GreaterThan(TIMESTAMP, NOON)),
    ],
)
def test_other_filters_are_left_to_spark(predicate: Any) -> None:
    bounds = Bounds()

    assert bounds.push([predicate]) == [predicate]
    assert bounds == Bounds()
