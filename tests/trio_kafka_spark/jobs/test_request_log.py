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
    found = parsed(lines(spark, line("PRODUCE", "a", sent=7, got=8, total=2.0, error=3))).collect()

    assert len(found) == 1
    assert (found[0]["client_id"], found[0]["api"], found[0]["version"]) == ("a", "PRODUCE", 9)
    assert (found[0]["request_bytes"], found[0]["response_bytes"]) == (7, 8)
    assert (found[0]["error_code"], found[0]["total_ms"], found[0]["queue_ms"]) == (3, 2.0, 0.5)
    assert (found[0]["software_name"], found[0]["listener"]) == ("x", "PLAINTEXT")


def test_malformed_request_log_lines_are_left_out(spark):
    found = parsed(lines(spark, "", "{", "[]", "{}", '{"requestHeader": 3}', line("FETCH")))

    assert [row["api"] for row in found.collect()] == ["FETCH"]


def test_fields_missing_in_a_request_log_line_of_apache_kafka_are_null(spark):
    text = json.loads(line("FETCH"))
    for name in ("requestSizeBytes", "responseSizeBytes", "errorCode", "pluginTimeMs"):
        del text[name]

    found = parsed(lines(spark, json.dumps(text))).first()

    assert (found["request_bytes"], found["error_code"], found["plugin_ms"]) == (None, None, None)
    assert found["total_ms"] == 1.0


def wait_for_line(broker, text):
    """Read the request log's topic until it has a line with this text."""
    consumer = Consumer({"bootstrap.servers": broker.bootstrap, "group.id": "x"})
    consumer.assign([TopicPartition("trio-request-log", 0, 0)])
    while True:
        found = consumer.poll(30)
        assert found is not None
        if found.error() is None and text in found.value():
            break
    consumer.close()


def test_request_log_lines_of_a_running_broker_are_parsed(spark, tmp_path):
    with broker_process(tmp_path, "trio.request.log=topic") as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "client.id": "billing"})
        producer.produce("t", b"x")
        assert producer.flush(30) == 0
        wait_for_line(broker, b'"PRODUCE"')
    stored = rows(broker.data, subscribe="trio-request-log")
    given = [(one["value"], one["timestamp"]) for one in stored]

    frame = spark.createDataFrame(given, "value binary, timestamp timestamp")
    found = [row for row in parsed(frame).collect() if row["client_id"] == "billing"]

    produced = [row for row in found if row["api"] == "PRODUCE"]
    assert len(produced) == 1
    assert produced[0]["request_bytes"] > 0
    assert produced[0]["total_ms"] >= produced[0]["local_ms"] >= 0
    assert {"API_VERSIONS", "METADATA"} <= {row["api"] for row in found}
