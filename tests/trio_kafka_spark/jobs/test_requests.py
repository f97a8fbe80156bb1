"""Latency and errors by API, by client, over time."""

import pytest

from tests.trio_kafka_spark.jobs.kit import at, tuples
from tests.trio_kafka_spark.jobs.test_request_log import line, lines
from trio_kafka_spark.jobs.request_log import parsed
from trio_kafka_spark.jobs.requests import analyse


@pytest.mark.spark
def test_requests_are_grouped_by_api(spark):
    many = [line("PRODUCE", total=float(number), sent=10) for number in range(1, 101)]
    requests = parsed(lines(spark, *many, line("FETCH", total=7.0, error=3)))

    first, second = analyse(requests).collect()

    assert (first["api"], first["requests"], first["errors"]) == ("PRODUCE", 100, 0)
    assert (first["p50_ms"], first["p95_ms"], first["p99_ms"], first["max_ms"]) == (50, 95, 99, 100)
    assert (first["total_ms"], first["request_bytes"], first["local_ms"]) == (5050, 10, 12.625)
    assert (second["api"], second["errors_percent"]) == ("FETCH", 100.0)


@pytest.mark.spark
def test_requests_are_grouped_by_several_columns_and_by_interval(spark):
    texts = [line("FETCH", client) for client in "aaabbb"]
    requests = parsed(lines(spark, *texts))  # a second apart

    result = analyse(requests, ["client_id"], every="2 seconds")

    assert tuples(result, "time", "client_id", "requests") == [
        (at(0).replace(tzinfo=None), "a", 2),
        (at(2).replace(tzinfo=None), "a", 1),
        (at(2).replace(tzinfo=None), "b", 1),
        (at(4).replace(tzinfo=None), "b", 2),
    ]


def test_grouping_requests_by_an_unknown_column_is_refused_with_its_name():
    with pytest.raises(ValueError, match="requests by topic: want some of api"):
        analyse(None, ["topic"])
