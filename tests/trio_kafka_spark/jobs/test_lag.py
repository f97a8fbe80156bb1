"""Commits, and how far they are behind, over time."""

import pytest

from tests.trio_kafka_spark.jobs.kit import at, tuples, view
from tests.trio_kafka_spark.log.kit import batch, partition, rows, segment
from trio_kafka.coordinators.groups.stored_records import GROUP_RECORDS
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.protocol.stored.groups.classic import (
    GroupMetadataKey,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka_spark.jobs.lag import commits, decoded_commits, lag_over_time

RECORD = "timestamp timestamp, offset bigint, key binary, value binary"
COMMIT = (
    "timestamp timestamp, offset bigint, `group` string, topic string, partition int,"
    " committed bigint"
)
BATCH = "topic string, partition int, last_offset bigint, max_timestamp timestamp"


def commit(group, offset, topic="t", partition=0):
    key = OffsetCommitKey(group, topic, partition)
    value = None if offset is None else OffsetCommitValue(offset=offset, metadata="")
    return GROUP_RECORDS.encode(CoordinatorRecord(key, value, 3))


def test_offset_commits_are_decoded_and_other_records_are_left_out():
    import pyarrow as pa

    entries = [
        (at(0), 0, *commit("g", 7)),
        (at(1), 1, *GROUP_RECORDS.encode(CoordinatorRecord(GroupMetadataKey("g")))),
        (at(2), 2, *commit("g", None)),
        (at(3), 3, b"\x00", b"x"),
        (at(4), 4, b"\x7f\xff", b"x"),
        (at(5), 5, None, b"x"),
    ]
    columns = [list(column) for column in zip(*entries, strict=True)]
    kinds = (pa.timestamp("us", tz="UTC"), pa.int64(), pa.binary(), pa.binary())
    arrays = [pa.array(column, kind) for column, kind in zip(columns, kinds, strict=True)]
    table = pa.RecordBatch.from_arrays(arrays, ["timestamp", "offset", "key", "value"])

    (result,) = decoded_commits([table])

    assert [tuple(row.values()) for row in result.to_pylist()] == [
        (at(0), 0, "g", "t", 0, 7),
        (at(2), 2, "g", "t", 0, None),
    ]
    (none,) = decoded_commits([table.slice(3)])
    assert none.num_rows == 0


@pytest.mark.spark
def test_lag_is_end_offset_minus_committed_offset_at_the_end_of_each_interval(spark):
    committed = spark.createDataFrame(
        [
            (at(60), 0, "g", "t", 0, 10),
            (at(70), 3, "g", "t", 0, 20),
            (at(70), 2, "g", "t", 0, 15),
            (at(185), 4, "g", "t", 0, 50),
        ],
        COMMIT,
    )
    batches = spark.createDataFrame(
        [("t", 0, 29, at(5)), ("t", 0, 39, at(65)), ("t", 0, 59, at(130)), ("t", 1, 9, at(5))],
        BATCH,
    )

    result = lag_over_time(committed, batches, "60 seconds")

    start = result.first()["time"]
    assert [
        ((row["time"] - start).total_seconds(), row["committed"], row["end_offset"], row["lag"])
        for row in result.collect()
    ] == [(0, 20, 40, 20), (60, 20, 60, 40), (120, 50, 60, 10)]


@pytest.mark.spark
def test_lag_of_a_group_ends_at_the_tombstone_of_its_commit(spark):
    committed = spark.createDataFrame(
        [
            (at(0), 0, "g", "t", 0, 3),
            (at(100), 2, "g", "t", 0, None),
            (at(0), 1, "h", "x", 0, 3),
        ],
        COMMIT,
    )
    batches = spark.createDataFrame([("t", 0, 9, at(0)), ("t", 0, 19, at(200))], BATCH)

    result = lag_over_time(committed, batches, "10 seconds")

    assert tuples(result, "group", "committed", "end_offset", "lag") == [
        ("g", 3, 10, 7),
        ("g", None, 10, None),
        ("g", None, 20, None),
        ("h", 3, None, None),
    ]


@pytest.mark.spark
def test_lag_is_computed_from_commits_and_batches_of_log_directories(spark, tmp_path):
    key, value = commit("g", 4)
    from trio_kafka.records.batch import Record, encode_batch

    offsets = encode_batch([Record(timestamp=1_700_000_000_050, key=key, value=value)])
    segment(partition(tmp_path, 0, "__consumer_offsets"), [offsets])
    segment(partition(tmp_path), [batch(0)])
    stored = rows(tmp_path, subscribe="__consumer_offsets")
    frame = spark.createDataFrame(
        [(row["timestamp"], row["offset"], row["key"], row["value"]) for row in stored], RECORD
    )

    result = lag_over_time(commits(frame), view(spark, tmp_path, "batches", subscribe="t"))

    assert tuples(result, "group", "topic", "committed", "end_offset", "lag") == [
        ("g", "t", 4, 10, 6)
    ]
