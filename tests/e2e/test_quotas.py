"""Quotas as users have them: Kafka's tool sets them, real clients obey."""

from collections.abc import Sequence
from time import monotonic

import pytest
from confluent_kafka import Producer

from tests.clients.kafka_tools.jvm import AskTool
from tests.e2e.clients import new_topic, settings
from tests.e2e.test_configs import tool
from trio_kafka.testing.processes import BrokerProcess

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]


def configs(kafka_tool: AskTool, broker: BrokerProcess, *arguments: str, of: Sequence[str]) -> str:
    return tool(kafka_tool, broker, "kafka.admin.ConfigCommand", *of, *arguments)


@pytest.mark.long  # the next test sets a quota by the tool; tests/apis has every kind of entity
def test_kafka_configs_sets_describes_and_removes_quotas(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    both = ["--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients"]
    both += ["--entity-name", "app"]
    anybody = ["--entity-type", "clients", "--entity-default"]
    host = ["--entity-type", "ips", "--entity-name", "127.0.0.9"]

    def change(of: Sequence[str], quotas: str) -> None:
        configs(kafka_tool, own_broker, "--alter", "--add-config", quotas, of=of)

    change(both, "producer_byte_rate=1024,consumer_byte_rate=2048")
    change(anybody, "request_percentage=150,controller_mutation_rate=5.5")
    change(host, "connection_creation_rate=10")

    def described(of: Sequence[str]) -> str:
        return configs(kafka_tool, own_broker, "--describe", of=of)

    result = described(both)
    assert "user-principal 'alice', client-id 'app'" in result
    assert "producer_byte_rate=1024" in result
    assert "consumer_byte_rate=2048" in result
    result = described(anybody)
    assert "default client-id" in result
    assert "request_percentage=150" in result
    assert "controller_mutation_rate=5.5" in result
    assert "connection_creation_rate=10" in described(host)

    configs(kafka_tool, own_broker, "--alter", "--delete-config", "producer_byte_rate", of=both)
    assert "producer_byte_rate" not in described(both)


def test_producer_above_its_quota_is_throttled_and_loses_no_records(
    own_broker: BrokerProcess, kafka_tool: AskTool
) -> None:
    topic = new_topic(own_broker)
    of = ["--entity-type", "clients", "--entity-name", "throttled"]
    change = "producer_byte_rate=100000"
    configs(kafka_tool, own_broker, "--alter", "--add-config", change, of=of)
    throttled: list[int] = []

    def note(event: object) -> None:
        throttled.append(int(getattr(event, "throttle_time", 0) * 1000))

    producer = Producer(
        settings(own_broker, client_id="throttled", acks="1", linger_ms=0, batch_size=20_000)
        | {"throttle_cb": note}
    )
    delivered: list[object] = []
    began = monotonic()
    for _ in range(150):
        producer.produce(topic, bytes(10_000), on_delivery=lambda error, _: delivered.append(error))
        producer.poll(0)
    assert producer.flush(120) == 0
    took_s = monotonic() - began

    assert delivered == [None] * 150
    assert any(wait > 0 for wait in throttled)
    # 1.5 MB at 100 kB a second, of which ten seconds' worth may come at once.
    assert took_s > 3
