"""The gateway behind the real HTTP plane, asked over a socket."""

import json
import urllib.request
from typing import Any

import pytest

from trio_kafka.testing.kafka.threaded import Kafka
from trio_kafka_builtin.rest_gateway.plugin import rest_gateway
from trio_kafka_http.plugin import http

pytestmark = pytest.mark.slow


def ask(url: str, body: Any = None) -> Any:
    data = None if body is None else json.dumps(body).encode()
    with urllib.request.urlopen(urllib.request.Request(url, data), timeout=20) as answer:
        return json.load(answer)


@pytest.mark.kafka(
    settings={"plugin.rest_gateway.enabled": "true", "plugin.http.anonymous.changes": "true"},
    plugins=[http, rest_gateway],
)
def test_records_can_be_produced_and_consumed_over_a_real_http_socket(kafka: Kafka) -> None:
    pytest.importorskip("hypercorn", reason="hypercorn is not installed: trio-kafka[http]")
    names = kafka.look(lambda broker: [node.name for _, node in broker.node.walk()])
    (listener,) = [name for name in names if name.startswith("http://")]
    ask(f"{listener}/v1/topics", {"name": "t"})
    records = {"records": [{"value": {"a": 1}}]}

    rows = ask(f"{listener}/v1/topics/t/records", records)
    result = ask(f"{listener}/v1/topics/t/partitions/0/records")

    assert rows == {"offsets": [{"partition": 0, "offset": 0}]}
    assert result["records"][0]["value"] == {"a": 1}
    assert [json.loads(record.text) for record in kafka.records("t")] == [{"a": 1}]
