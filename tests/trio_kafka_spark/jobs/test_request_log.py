"""Lines of the request log: those of our broker, of Apache Kafka, and others."""

import json

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from tests.trio_kafka_spark.jobs.kit import at
from tests.trio_kafka_spark.log.kit import rows
from trio_kafka.testing.processes import broker_process
from trio_kafka_spark.jobs.request_log import HOPS, parsed

pytestmark = pytest.mark.spark


def line(api, client="c", *, sent=1, got=1, total=1.0, error=0, **more) -> str:
    header = {
        "requestApiKey": 0,
        "requestApiVersion": 9,
        "correlationId": 1,
        "clientId": client,
        "requestApiKeyName": api,
    }
    shown = {
        "isForwarded": False,
        "requestHeader": header,
        "request": {"acks": -1},
        "requestSizeBytes": sent,
        "responseSizeBytes": got,
        "errorCode": error,
        "totalTimeMs": total,
        "listener": "PLAINTEXT",
        "clientInformation": {"softwareName": "x", "softwareVersion": "1"},
        **dict.fromkeys(HOPS.values(), total / 4),
        **more,
    }
    return json.dumps(shown)


def lines(spark, *texts):
    rows = [(text.encode(), at(number)) for number, text in enumerate(texts)]
    return spark.createDataFrame(rows, "value binary, timestamp timestamp")


def test_each_line_of_a_request_log_is_a_row(spark):
    result = parsed(lines(spark, line("PRODUCE", "a", sent=7, got=8, total=2.0, error=3))).collect()

    assert len(result) == 1
    assert (result[0]["client_id"], result[0]["api"], result[0]["version"]) == ("a", "PRODUCE", 9)
    assert (result[0]["request_bytes"], result[0]["response_bytes"]) == (7, 8)
    assert (result[0]["error_code"], result[0]["total_ms"], result[0]["queue_ms"]) == (3, 2.0, 0.5)
    assert (result[0]["software_name"], result[0]["listener"]) == ("x", "PLAINTEXT")


def test_malformed_request_log_lines_are_left_out(spark):
    result = parsed(lines(spark, "", "{", "[]", "{}", '{"requestHeader": 3}', line("FETCH")))

    assert [row["api"] for row in result.collect()] == ["FETCH"]


def test_fields_missing_in_a_request_log_line_of_apache_kafka_are_null(spark):
    text = json.loads(line("FETCH"))
    for name in ("requestSizeBytes", "responseSizeBytes", "errorCode", "pluginTimeMs"):
        del text[name]

    result = parsed(lines(spark, json.dumps(text))).first()

    assert (result["request_bytes"], result["error_code"], result["plugin_ms"]) == (
        None,
        None,
        None,
    )
    assert result["total_ms"] == 1.0


def wait_for_line(broker, text):
    """Read the request log's topic until it has a line with this text."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "x"})
    consumer.assign([TopicPartition("trio-request-log", 0, 0)])
    while True:
        result = consumer.poll(30)
        assert result is not None
        if result.error() is None and text in result.value():
            break
    consumer.close()


def test_request_log_lines_of_a_running_broker_are_parsed(spark, tmp_path):
    with broker_process(tmp_path, "trio.request.log=topic") as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "billing"})
        producer.produce("t", b"x")
        assert producer.flush(30) == 0
        wait_for_line(broker, b'"PRODUCE"')
    stored = rows(broker.data, subscribe="trio-request-log")
    pairs = [(row["value"], row["timestamp"]) for row in stored]

    frame = spark.createDataFrame(pairs, "value binary, timestamp timestamp")
    result = [row for row in parsed(frame).collect() if row["client_id"] == "billing"]

    produced = [row for row in result if row["api"] == "PRODUCE"]
    assert len(produced) == 1
    assert produced[0]["request_bytes"] > 0
    assert produced[0]["total_ms"] >= produced[0]["local_ms"] >= 0
    assert {"API_VERSIONS", "METADATA"} <= {row["api"] for row in result}
