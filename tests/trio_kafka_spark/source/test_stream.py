"""Streams, without Spark: one reader plans, another one reads."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows, ReadMinRows

from tests.trio_kafka_spark.source.kit import (
    FIRST_MS,
    add_partitions,
    create_topic,
    delete_records,
    delete_topic,
    numbered,
    produce,
)
from tests.trio_kafka_spark.source.readers import offsets, options, spans, without_beginning
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.stream import StreamReader

Streams = Callable[..., StreamReader]


@pytest.fixture
def filled(sampled_broker: BrokerProcess, topic: str) -> str:
    """A topic with 20 records in two partitions, a millisecond apart."""
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(20))
    return topic


def latest(reader: StreamReader, start: dict[str, Any]) -> dict[str, Any]:
    """The end of the next batch, as Spark asks for it."""
    return reader.latestOffset(start, reader.getDefaultReadLimit())


def test_a_stream_starts_at_latest_by_default_or_at_the_given_offsets_or_time(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    where = options(sampled_broker.bootstrap, filled)

    assert streams(**where).initialOffset() == {filled: {"0": 10, "1": 10}}
    earliest = streams(**where, startingOffsets="earliest")
    assert earliest.initialOffset() == {filled: {"0": 0, "1": 0}}
    timed = streams(**where, startingTimestamp=str(FIRST_MS + 5))
    assert timed.initialOffset() == {filled: {"0": 3, "1": 2}}
    mixed = streams(**where, startingOffsets=f'{{"{filled}":{{"0":-1,"1":4}}}}')
    assert mixed.initialOffset() == {filled: {"0": 10, "1": 4}}


def test_micro_batches_are_contiguous_and_end_offsets_stay_without_new_records(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled), startingOffsets="earliest")
    start = reader.initialOffset()

    end = latest(reader, start)
    read = offsets(reader, reader.partitions(start, end))
    again = latest(reader, end)
    produce(sampled_broker.bootstrap, filled, numbered(2))
    more = latest(reader, end)

    assert without_beginning(end) == {filled: {"0": 10, "1": 10}}
    assert read == {0: list(range(10)), 1: list(range(10))}
    assert json.dumps(again) == json.dumps(end)
    assert reader.partitions(end, again) == []
    assert spans(reader.partitions(end, more)) == [(0, 10, 11), (1, 10, 11)]
    assert reader.reportLatestOffset() == more
    reader.commit(end)
    reader.stop()


def test_a_reader_reports_no_latest_offset_before_its_first_request(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    assert streams(**options(sampled_broker.bootstrap, filled)).reportLatestOffset() is None


def test_offsets_per_trigger_are_given_to_spark_as_its_read_limits(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    where = options(sampled_broker.bootstrap, filled)

    assert streams(**where).getDefaultReadLimit() == ReadAllAvailable()
    both = streams(**where, maxOffsetsPerTrigger="9", minOffsetsPerTrigger="5")
    assert both.getDefaultReadLimit() == ReadMaxRows(9)
    least = streams(**where, minOffsetsPerTrigger="5")
    assert least.getDefaultReadLimit() == ReadMinRows(5)


def test_max_offsets_per_trigger_limits_a_batch_unless_spark_reads_all_available(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(
        **options(sampled_broker.bootstrap, filled),
        startingOffsets="earliest",
        maxOffsetsPerTrigger="8",
    )
    start = reader.initialOffset()

    assert without_beginning(latest(reader, start)) == {filled: {"0": 4, "1": 4}}
    everything = reader.latestOffset(start, ReadAllAvailable())
    assert without_beginning(everything) == {filled: {"0": 10, "1": 10}}


def test_after_the_first_batch_records_wait_until_the_minimum_per_trigger(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(
        **options(sampled_broker.bootstrap, filled),
        startingOffsets="earliest",
        minOffsetsPerTrigger="3",
    )
    end = latest(reader, reader.initialOffset())
    produce(sampled_broker.bootstrap, filled, numbered(2))

    assert latest(reader, end) == end
    produce(sampled_broker.bootstrap, filled, numbered(1))
    assert latest(reader, end) == {filled: {"0": 12, "1": 11}}


def test_available_now_ends_at_the_latest_offsets_of_its_start(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(
        **options(sampled_broker.bootstrap, filled),
        startingOffsets="earliest",
        maxOffsetsPerTrigger="12",
        minOffsetsPerTrigger="12",
    )
    reader.prepareForTriggerAvailableNow()
    ends = [reader.initialOffset()]
    for _ in range(4):
        ends.append(latest(reader, ends[-1]))
        reader.partitions(*ends[-2:])
        produce(sampled_broker.bootstrap, filled, numbered(2))

    assert without_beginning(ends[1]) == {filled: {"0": 6, "1": 6}}
    assert ends[2] == ends[3] == ends[4] == {filled: {"0": 10, "1": 10}}


def test_a_stream_reads_new_partitions_from_their_first_record(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled))
    start = reader.initialOffset()
    add_partitions(sampled_broker.bootstrap, filled, 3)
    produce(sampled_broker.bootstrap, filled, numbered(6, partitions=3))

    end = latest(reader, start)

    assert without_beginning(end) == {filled: {"0": 12, "1": 12, "2": 2}}
    assert offsets(reader, reader.partitions(start, end)) == {0: [10, 11], 1: [10, 11], 2: [0, 1]}


def test_max_offsets_per_trigger_counts_new_partitions(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(
        **options(sampled_broker.bootstrap, f"{filled},trimmed"), maxOffsetsPerTrigger="6"
    )

    end = latest(reader, {filled: {"0": 5, "1": 10}})

    assert end == {filled: {"0": 6, "1": 10}, "trimmed": {"0": 29}}


@pytest.mark.parametrize("group", [None, "mine"])
def test_a_deleted_topic_is_data_loss_of_a_stream(
    sampled_broker: BrokerProcess, filled: str, streams: Streams, group: str | None
) -> None:
    other = create_topic(sampled_broker.bootstrap, f"{filled}-other", partitions=1)
    where = options(sampled_broker.bootstrap, f"{filled},{other}")
    if group is not None:
        where["kafka.group.id"] = group
    strict, lenient = streams(**where), streams(**where, failOnDataLoss="false")
    start = strict.initialOffset()
    delete_topic(sampled_broker.bootstrap, other)
    produce(sampled_broker.bootstrap, filled, numbered(2))

    end = latest(strict, start)
    with pytest.raises(SourceError) as caught:
        strict.partitions(start, end)

    kind = (
        "PARTITIONS_DELETED" if group is None else "PARTITIONS_DELETED_AND_GROUP_ID_CONFIG_PRESENT"
    )
    assert caught.value.condition == f"KAFKA_DATA_LOSS.{kind}"
    assert f"[{other}-0]" in str(caught.value)
    assert without_beginning(end) == {filled: {"0": 11, "1": 11}}
    assert spans(lenient.partitions(start, end)) == [(0, 10, 11), (1, 10, 11)]


@pytest.mark.parametrize(
    ("start", "end", "kind", "ranges"),
    [
        ({"0": 9}, {"0": 12, "1": 10}, "INITIAL", [(0, 9, 12), (1, 0, 10)]),
        ({"0": 9, "1": 10}, {"0": 4, "1": 10}, "PARTITION_OFFSET_CHANGED", []),
    ],
)
def test_each_kind_of_data_loss_has_its_own_condition(
    sampled_broker: BrokerProcess,
    filled: str,
    streams: Streams,
    start: dict[str, int],
    end: dict[str, int],
    kind: str,
    ranges: list[tuple[int, int, int]],
) -> None:
    where = options(sampled_broker.bootstrap, filled)
    gone = {"gone": {"0": 5}} if kind == "INITIAL" else {}
    strict, lenient = streams(**where), streams(**where, failOnDataLoss="false")

    with pytest.raises(SourceError, match=rf"^\[KAFKA_DATA_LOSS\.{kind}"):
        strict.partitions({filled: start}, {filled: end, **gone})

    assert spans(lenient.partitions({filled: start}, {filled: end, **gone})) == ranges


def test_a_new_partition_that_does_not_start_at_offset_0_is_data_loss(
    sampled_broker: BrokerProcess,
    streams: Streams,
) -> None:
    where = options(sampled_broker.bootstrap, "trimmed")
    strict, lenient = streams(**where), streams(**where, failOnDataLoss="false")

    with pytest.raises(SourceError, match="trimmed-0 starts at 25 instead of 0") as caught:
        strict.partitions({}, {"trimmed": {"0": 40}})

    condition = "KAFKA_DATA_LOSS.ADDED_PARTITION_DOES_NOT_START_FROM_OFFSET_ZERO"
    assert caught.value.condition == condition
    assert spans(lenient.partitions({}, {"trimmed": {"0": 40}})) == [(0, 25, 40)]


@pytest.mark.parametrize(
    ("end", "condition"),
    [
        ({"0": 10}, "MISMATCHED_TOPIC_PARTITIONS_BETWEEN_END_OFFSET_AND_PREFETCHED"),
        (
            {"0": 11, "1": 10},
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_PREFETCHED",
        ),
    ],
)
def test_a_batch_of_available_now_beyond_its_target_is_refused(
    sampled_broker: BrokerProcess,
    filled: str,
    streams: Streams,
    end: dict[str, int],
    condition: str,
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled))
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    latest(reader, start)

    with pytest.raises(SourceError) as caught:
        reader.partitions(start, {filled: end})

    assert caught.value.condition == condition


@pytest.mark.parametrize(
    ("created_again", "condition"),
    [
        (False, "LOST_TOPIC_PARTITIONS_IN_END_OFFSET_WITH_TRIGGER_AVAILABLENOW"),
        (
            True,
            "END_OFFSET_HAS_GREATER_OFFSET_FOR_TOPIC_PARTITION_THAN_LATEST_WITH_TRIGGER_AVAILABLENOW",
        ),
    ],
)
def test_a_topic_deleted_during_available_now_is_an_error(
    sampled_broker: BrokerProcess,
    filled: str,
    streams: Streams,
    created_again: bool,
    condition: str,
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled), startingOffsets="earliest")
    reader.prepareForTriggerAvailableNow()
    start = reader.initialOffset()
    end = latest(reader, start)
    delete_topic(sampled_broker.bootstrap, filled)
    if created_again:
        create_topic(sampled_broker.bootstrap, filled)

    with pytest.raises(SourceError) as caught:
        reader.partitions(start, end)

    assert caught.value.condition == condition


# --- a first batch that failed: its end is in the checkpoint, and another reader plans it again


def test_the_initial_offset_of_a_reader_does_not_change(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled))
    start = reader.initialOffset()
    produce(sampled_broker.bootstrap, filled, numbered(2))

    assert reader.initialOffset() == start


def test_a_repeated_first_batch_starts_at_its_original_offsets(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    where = options(sampled_broker.bootstrap, filled)  # startingOffsets is latest
    first = streams(**where)
    start = first.initialOffset()
    produce(sampled_broker.bootstrap, filled, numbered(4))
    end = latest(first, start)
    planned = spans(first.partitions(start, end))
    produce(sampled_broker.bootstrap, filled, numbered(6))

    second = streams(**where)
    later = second.initialOffset()
    again = spans(second.partitions(later, end))
    following = latest(second, end)
    idle = latest(second, following)

    assert later == {filled: {"0": 15, "1": 15}}
    assert planned == again == [(0, 10, 12), (1, 10, 12)]
    assert idle == following == later
    assert spans(second.partitions(end, following)) == [(0, 12, 15), (1, 12, 15)]


def test_a_partition_added_after_a_failed_first_batch_is_no_data_loss(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    where = {**options(sampled_broker.bootstrap, filled), "startingOffsets": "earliest"}
    first = streams(**where)
    end = latest(first, first.initialOffset())
    add_partitions(sampled_broker.bootstrap, filled, 3)
    produce(sampled_broker.bootstrap, filled, numbered(3, partitions=3))

    second = streams(**where)
    second.prepareForTriggerAvailableNow()

    assert spans(second.partitions(second.initialOffset(), end)) == [(0, 0, 10), (1, 0, 10)]
    following = latest(second, end)
    assert spans(second.partitions(end, following)) == [(0, 10, 11), (1, 10, 11), (2, 0, 1)]


def test_records_deleted_after_a_failed_first_batch_are_data_loss(
    sampled_broker: BrokerProcess, topic: str, streams: Streams
) -> None:
    create_topic(sampled_broker.bootstrap, topic, partitions=1)
    produce(sampled_broker.bootstrap, topic, numbered(10, partitions=1))
    where = {**options(sampled_broker.bootstrap, topic), "startingOffsets": "earliest"}
    first = streams(**where)
    end = latest(first, first.initialOffset())
    delete_records(sampled_broker.bootstrap, topic, 4)

    strict = streams(**where)
    tasks = strict.partitions(strict.initialOffset(), end)

    assert spans(tasks) == [(0, 0, 10)]
    with pytest.raises(SourceError, match=r"^\[KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE\]"):
        offsets(strict, tasks)


def test_the_first_batch_of_a_pattern_without_topics_repeats_without_partitions(
    sampled_broker: BrokerProcess, topic: str, streams: Streams
) -> None:
    where = {**options(sampled_broker.bootstrap), "subscribePattern": f"^{topic}$"}
    first = streams(**where)
    end = latest(first, first.initialOffset())
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(4))

    second = streams(**where)

    assert second.partitions(second.initialOffset(), end) == []
    following = latest(second, end)
    assert spans(second.partitions(end, following)) == [(0, 0, 2), (1, 0, 2)]


def test_only_the_end_of_the_first_batch_holds_its_beginning(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled), maxOffsetsPerTrigger="4")
    start = reader.initialOffset()
    first = latest(reader, start)
    idle = latest(reader, first)
    produce(sampled_broker.bootstrap, filled, numbered(4))
    second = latest(reader, idle)

    assert json.dumps(idle) == json.dumps(first)  # Spark compares texts
    assert without_beginning(first) == start != first
    assert second == without_beginning(second) == {filled: {"0": 12, "1": 12}}
    assert reader.partitions(first, first) == []
    assert spans(reader.partitions(first, second)) == [(0, 10, 12), (1, 10, 12)]


def test_a_first_batch_planned_by_another_format_starts_at_the_starting_offsets(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled), startingOffsets="earliest")

    tasks = reader.partitions(reader.initialOffset(), {filled: {"0": 7, "1": 7}})

    assert spans(tasks) == [(0, 0, 7), (1, 0, 7)]


def test_offsets_of_another_format_are_refused(
    sampled_broker: BrokerProcess, filled: str, streams: Streams
) -> None:
    reader = streams(**options(sampled_broker.bootstrap, filled))

    with pytest.raises(ValueError, match="expected JSON such as"):
        latest(reader, {"offset": 7})
