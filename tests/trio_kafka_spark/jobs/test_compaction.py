"""Records that the cleaner would remove, compared with those that Apache Kafka's removed."""

import pytest

from tests.trio_kafka_spark.jobs.kit import record, records, tuples, view
from tests.trio_kafka_spark.log.kit import sample
from trio_kafka_spark.jobs.compaction import compaction_what_if

pytestmark = pytest.mark.spark
DAY_S = 86_400
COLUMNS = (
    "topic",
    "partition",
    "records",
    "bytes",
    "keys",
    "removed_records",
    "removed_bytes",
    "removed_percent",
    "tombstones",
    "without_key",
    "not_cleaned",
)


def test_compaction_removes_records_with_a_later_record_of_the_same_key(spark):
    entries = [
        record(0, b"a", b"12345"),
        record(1, b"b", b"1"),
        record(2, b"a", b"1"),
        record(3, None, b"123"),
        record(4, b"b", None),
        record(0, b"a", b"1", partition=1),
    ]

    assert tuples(compaction_what_if(records(spark, *entries)), *COLUMNS) == [
        ("t", 0, 5, 14, 2, 3, 11, 78.57, 1, 1, 0),
        ("t", 1, 1, 2, 1, 0, 0, 0.0, 0, 0, 0),
    ]


def test_compaction_removes_tombstones_older_than_the_delete_retention(spark):
    entries = [
        record(0, b"a", b"1"),
        record(1, b"a", None),
        record(2, b"b", b"1", seconds=DAY_S + 10),
        record(3, b"c", None, seconds=DAY_S + 10),
    ]

    result = compaction_what_if(records(spark, *entries))

    assert tuples(result, "removed_records", "tombstones") == [(2, 2)]
    longer = compaction_what_if(records(spark, *entries), delete_retention_ms=2 * DAY_S * 1000)
    assert tuples(longer, "removed_records", "tombstones") == [(1, 2)]


def test_the_active_segment_is_left_out_of_compaction(spark):
    entries = [
        record(0, b"a"),
        record(1, b"a"),
        record(2, b"b"),
        record(10, b"a"),
        record(11, b"b"),
    ]
    active = spark.createDataFrame(
        [("t", 0, 10)], "topic string, partition int, base_offset bigint"
    )

    result = compaction_what_if(records(spark, *entries), active)

    assert tuples(result, "records", "removed_records", "not_cleaned") == [(3, 1, 2)]


def test_compaction_removes_no_record_of_a_log_compacted_by_apache_kafka(spark, tmp_path):
    sample(tmp_path, "compacted")
    load = spark.read.format("trio-kafka-log").options(path=tmp_path, subscribe="compacted")
    active = view(spark, tmp_path, "segments").where("is_active")

    (result,) = compaction_what_if(load.load(), active, 1 << 60).collect()

    assert result["records"] > 0
    assert (result["removed_records"], result["removed_bytes"]) == (0, 0)
    assert result["not_cleaned"] > 0
