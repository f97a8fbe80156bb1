"""Sums by topic and by client."""

import pytest

from tests.trio_kafka_spark.jobs.kit import tuples, view
from tests.trio_kafka_spark.jobs.test_request_log import line, lines
from tests.trio_kafka_spark.log.kit import batch, log, partition, segment
from trio_kafka_spark.jobs.request_log import parsed
from trio_kafka_spark.jobs.usage import usage_by_client, usage_by_topic

pytestmark = pytest.mark.spark


def test_usage_of_a_topic_is_the_sum_of_its_segments(spark, tmp_path):
    directory = log(tmp_path, segments=3, interval=1)
    segment(partition(tmp_path, 1), [batch(100)])
    segment(partition(tmp_path, 0, "u"), [batch(0)])

    result = usage_by_topic(view(spark, tmp_path, "segments"))

    sizes = sum(path.stat().st_size for path in directory.glob("*.log")) + len(batch(100))
    columns = ("topic", "partitions", "segments", "batches", "records", "bytes", "index_bytes")
    assert tuples(result, *columns) == [
        ("t", 2, 4, 13, 130, sizes, 72),
        ("u", 1, 1, 1, 10, len(batch(0)), 0),
    ]
    first = result.first()
    assert first["first_timestamp"] < first["last_timestamp"]


def test_usage_of_clients_is_summed_up_by_client_and_api(spark):
    requests = parsed(
        lines(
            spark,
            line("PRODUCE", "a", sent=100, got=10, total=1.5),
            line("PRODUCE", "a", sent=200, got=10, total=2.5, error=3),
            line("FETCH", "a", sent=10, got=5000, total=9),
            line("PRODUCE", "b", sent=1, got=1, total=1),
        )
    )

    columns = ("client_id", "api", "requests", "errors", "request_bytes", "response_bytes")
    assert tuples(usage_by_client(requests), *columns, "bytes", "total_ms") == [
        ("a", "FETCH", 1, 0, 10, 5000, 5010, 9.0),
        ("a", "PRODUCE", 2, 1, 300, 20, 320, 4.0),
        ("b", "PRODUCE", 1, 0, 1, 1, 2, 1.0),
    ]
