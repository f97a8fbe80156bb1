"""Batch reads, without Spark."""

import logging
import pickle
from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    GreaterThanOrEqual,
    InputPartition,
    LessThan,
)
from pyspark.sql.types import StructField, StructType

from tests.trio_kafka_spark.source.kit import (
    FIRST_MS,
    create_topic,
    numbered,
    peculiar,
    produce,
)
from tests.trio_kafka_spark.source.readers import batch_reader, offsets, options, rows, spans
from trio_kafka.testing.processes import BrokerProcess
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.source.batch import FilteringBatchReader
from trio_kafka_spark.source.schema import TYPES, full_schema


@pytest.fixture
def filled(sampled_broker: BrokerProcess, topic: str) -> str:
    """A topic with 20 records in two partitions, a millisecond apart."""
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, numbered(20))
    return topic


def test_a_batch_reads_all_records_of_a_topic_with_all_columns(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, filled))

    result = rows(reader, reader.partitions())

    assert result[3] == {
        "key": b"k6",
        "value": b"value 6",
        "topic": filled,
        "partition": 0,
        "offset": 3,
        "timestamp": datetime.fromtimestamp(FIRST_MS / 1000, UTC) + timedelta(milliseconds=6),
        "timestampType": 0,
    }
    assert [row["value"] for row in result] == [
        record.value for record in sorted(numbered(20), key=lambda record: record.partition)
    ]


def test_nulls_empty_bytes_and_headers_are_kept(sampled_broker: BrokerProcess, topic: str) -> None:
    create_topic(sampled_broker.bootstrap, topic)
    produce(sampled_broker.bootstrap, topic, peculiar())
    reader = batch_reader(
        full_schema(include_headers=True), **options(sampled_broker.bootstrap, topic)
    )

    result = {
        row["timestamp"].microsecond // 1000: row for row in rows(reader, reader.partitions())
    }

    assert (result[0]["key"], result[0]["value"]) == (None, None)
    assert (result[1]["key"], result[1]["value"]) == (b"", b"")
    assert [(each["key"], each["value"]) for each in result[3]["headers"]] == [
        ("h", b"1"),
        ("h", None),
        ("", b""),
    ]


def test_only_the_columns_of_the_schema_are_decoded(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    schema = StructType([StructField(name, TYPES[name]) for name in ("offset", "value")])
    reader = batch_reader(schema, **options(sampled_broker.bootstrap, filled))

    (first, *_) = reader.read(reader.partitions()[0])

    assert first.schema.names == ["offset", "value"]


def test_pickled_tasks_are_small_and_hold_no_connection_options(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, filled))

    planned = reader.partitions()

    assert spans(planned) == [(0, 0, 10), (1, 0, 10)]
    assert len(pickle.dumps(planned[0])) < 300
    assert sampled_broker.bootstrap.encode() not in pickle.dumps(planned)


def test_min_partitions_and_max_records_per_partition_split_partitions(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    where = options(sampled_broker.bootstrap, filled)
    four = batch_reader(**where, minPartitions="4")
    small = batch_reader(**where, maxRecordsPerPartition="4")

    assert spans(four.partitions()) == [(0, 0, 5), (0, 5, 10), (1, 0, 5), (1, 5, 10)]
    assert spans(small.partitions())[:3] == [(0, 0, 3), (0, 3, 6), (0, 6, 10)]
    assert offsets(small, small.partitions()) == {0: list(range(10)), 1: list(range(10))}


def test_a_batch_reads_only_from_starting_to_ending_offsets(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    reader = batch_reader(
        **options(
            sampled_broker.bootstrap,
            filled,
            startingOffsets=f'{{"{filled}":{{"0":4,"1":-2}}}}',
            endingOffsets=f'{{"{filled}":{{"0":6,"1":-1}}}}',
        )
    )

    assert offsets(reader, reader.partitions()) == {0: [4, 5], 1: list(range(10))}


def test_an_empty_topic_gives_no_partitions_and_no_rows(
    sampled_broker: BrokerProcess, topic: str
) -> None:
    create_topic(sampled_broker.bootstrap, topic)
    reader = batch_reader(**options(sampled_broker.bootstrap, topic))

    assert reader.partitions() == []
    assert list(reader.read(InputPartition(None))) == []


def test_a_starting_offset_above_the_end_of_a_partition_is_refused(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    above = f'{{"{filled}":{{"0":11,"1":0}}}}'
    reader = batch_reader(**options(sampled_broker.bootstrap, filled, startingOffsets=above))

    with pytest.raises(SourceError) as caught:
        reader.partitions()

    assert caught.value.condition == "RESOLVED_START_OFFSET_GREATER_THAN_END_OFFSET"
    assert f"{filled}-0 starts at offset 11, which is above its end 10" in str(caught.value)


def test_a_starting_offset_of_deleted_records_is_data_loss(
    sampled_broker: BrokerProcess, caplog: pytest.LogCaptureFixture
) -> None:
    where = options(sampled_broker.bootstrap, "trimmed", startingOffsets='{"trimmed":{"0":3}}')
    strict, lenient = batch_reader(**where), batch_reader(**where, failOnDataLoss="false")

    with pytest.raises(SourceError) as caught:
        rows(strict, strict.partitions())
    with caplog.at_level(logging.WARNING):
        result = offsets(lenient, lenient.partitions())

    assert caught.value.condition == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert "offsets [3, 25) of trimmed-0 cannot be read" in str(caught.value)
    assert result == {0: list(range(25, 40))}
    assert "offsets [3, 25) of trimmed-0" in caplog.text


def test_records_deleted_after_planning_are_no_data_loss_if_a_task_starts_at_earliest(
    sampled_broker: BrokerProcess,
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, "trimmed"))
    (planned,) = reader.partitions()
    planned.start = 3  # as if it had been planned before the records were deleted

    assert offsets(reader, [planned]) == {0: list(range(25, 40))}


def test_a_range_of_deleted_records_is_skipped_if_data_loss_is_allowed(
    sampled_broker: BrokerProcess,
) -> None:
    reader = batch_reader(
        **options(
            sampled_broker.bootstrap,
            "trimmed",
            failOnDataLoss="false",
            startingOffsets='{"trimmed":{"0":3}}',
            endingOffsets='{"trimmed":{"0":20}}',
        )
    )

    assert rows(reader, reader.partitions()) == []


def test_an_ending_offset_not_reached_within_the_poll_timeout_is_data_loss(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    where = options(
        sampled_broker.bootstrap,
        filled,
        endingOffsets=f'{{"{filled}":{{"0":15,"1":0}}}}',
        kafkaConsumer_pollTimeoutMs="50",
        kafka_fetch_max_wait_ms="10",
    )
    strict, lenient = batch_reader(**where), batch_reader(**where, failOnDataLoss="false")

    with pytest.raises(SourceError) as caught:
        rows(strict, strict.partitions())

    assert caught.value.condition == "KAFKA_DATA_LOSS.COULD_NOT_READ_OFFSET_RANGE"
    assert "offsets [10, 15)" in str(caught.value)
    assert offsets(lenient, lenient.partitions()) == {0: list(range(10))}


def test_a_batch_reads_a_compacted_partition_over_its_offset_gaps(
    sampled_broker: BrokerProcess,
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, "compacted"))

    result = offsets(reader, reader.partitions())[0]

    assert len(result) < 32
    assert result == sorted(set(result))
    assert result[-1] == 31


def test_read_committed_leaves_out_aborted_records(sampled_broker: BrokerProcess) -> None:
    where = options(sampled_broker.bootstrap, "txn")
    every = batch_reader(**where)
    committed = batch_reader(**where, **{"kafka.isolation.level": "read_committed"})

    assert offsets(every, every.partitions()) == {0: sorted({*range(34)} - {5, 11, 17, 28})}
    aborted = {*range(6, 11), *range(18, 28)}
    kept = sorted({*range(31)} - {5, 11, 17, 28} - aborted)
    assert offsets(committed, committed.partitions()) == {0: kept}


def test_filters_are_accepted_only_with_the_pushdown_option(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    where = options(sampled_broker.bootstrap, filled)

    plain = batch_reader(**where)
    pushing = batch_reader(**where, pushdown="true")

    assert type(plain).pushFilters is DataSourceReader.pushFilters
    assert isinstance(pushing, FilteringBatchReader)


def test_pushed_filters_narrow_the_offsets_of_the_tasks(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, filled), pushdown="true")
    assert isinstance(reader, FilteringBatchReader)
    since = datetime.fromtimestamp(FIRST_MS / 1000, UTC) + timedelta(milliseconds=9)
    late = GreaterThanOrEqual(("timestamp",), since)

    remaining = reader.pushFilters([EqualTo(("partition",), 1), late, LessThan(("offset",), 8)])

    assert list(remaining) == [late]
    assert spans(reader.partitions()) == [(1, 4, 8)]


def test_a_pushed_timestamp_after_all_records_gives_no_tasks(
    sampled_broker: BrokerProcess, filled: str
) -> None:
    reader = batch_reader(**options(sampled_broker.bootstrap, filled), pushdown="true")
    assert isinstance(reader, FilteringBatchReader)
    reader.pushFilters([GreaterThanOrEqual(("timestamp",), datetime(2100, 1, 1, tzinfo=UTC))])

    assert reader.partitions() == []
