"""Records for the sink: the same place and order."""

import pytest

from tests.trio_kafka_spark.jobs.kit import record, records, tuples
from trio_kafka_spark.jobs.restore import WRITTEN, restore

pytestmark = pytest.mark.spark


def test_each_restored_partition_is_in_one_task_ordered_by_time(spark):
    entries = [record(n, partition=n % 3) for n in range(50, -1, -1)]

    result = restore(records(spark, *entries).repartition(4))

    assert result.columns == list(WRITTEN)
    parts = [part for part in result.rdd.glom().collect() if part]
    seconds = [[(row["partition"], row["timestamp"]) for row in part] for part in parts]
    assert all(rows == sorted(rows) for rows in seconds)
    assert sorted(row for rows in seconds for row in rows) == sorted(
        (row["partition"], row["timestamp"]) for row in result.collect()
    )
    places = [{partition for partition, _ in rows} for rows in seconds]
    assert sum(map(len, places)) == 3


def test_a_restore_can_change_the_topic_and_works_without_headers(spark):
    result = restore(records(spark, record(0)).drop("headers"), topic="copy")

    assert result.columns == [name for name in WRITTEN if name != "headers"]
    assert tuples(result, "topic", "key", "value") == [("copy", b"k", b"v")]
