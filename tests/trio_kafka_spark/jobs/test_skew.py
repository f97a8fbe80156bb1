"""Shares of partitions and of keys."""

import pytest

from tests.trio_kafka_spark.jobs.kit import record, records, tuples, view
from tests.trio_kafka_spark.log.kit import batch, partition, segment
from trio_kafka_spark.jobs.skew import skew_of_keys, skew_of_partitions

pytestmark = pytest.mark.spark


def test_partitions_are_compared_with_the_mean_of_their_topic(spark, tmp_path):
    segment(partition(tmp_path, 0), [batch(0), batch(10), batch(20)])
    segment(partition(tmp_path, 1), [batch(10)])
    segment(partition(tmp_path, 2), [], base=0)

    result = skew_of_partitions(view(spark, tmp_path, "segments")).collect()

    assert [(row["partition"], row["records"]) for row in result] == [(0, 30), (1, 10), (2, 0)]
    assert result[2]["bytes_percent"] == 0
    assert sum(row["bytes_percent"] for row in result) == pytest.approx(100, abs=0.1)
    assert result[0]["ratio"] == pytest.approx(result[0]["bytes_percent"] * 3 / 100, abs=0.01)


def test_the_skew_of_an_empty_topic_is_zero(spark, tmp_path):
    segment(partition(tmp_path, 0), [], base=0)

    assert tuples(skew_of_partitions(view(spark, tmp_path, "segments")), "ratio") == [(0.0,)]


def test_the_most_frequent_keys_of_each_topic_are_shown(spark):
    entries = [record(n, b"hot", b"vv") for n in range(6)]
    entries += [record(n, b"hot", b"vv", partition=1) for n in range(2)]
    entries += [record(n, None, None) for n in range(6, 8)]
    entries += [record(8, b"cold"), record(9, b"x"), record(0, b"only", topic="u")]

    result = skew_of_keys(records(spark, *entries), most=2)

    columns = ("topic", "key", "partitions", "records", "bytes", "records_percent")
    assert tuples(result, *columns) == [
        ("t", b"hot", 2, 8, 40, 66.67),
        ("t", None, 1, 2, 0, 16.67),
        ("u", b"only", 1, 1, 5, 100.0),
    ]
