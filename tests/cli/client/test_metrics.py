"""`trio-kafka client metrics`."""

import json

from tests.apis.test_k72_push_telemetry import DATA
from tests.cli.kit import Shell
from trio_kafka.cli.broker_client import open_client, parse_address
from trio_kafka.clients.admin.config_values import (
    AlterConfigOp,
    ConfigResource,
    ConfigResourceType,
    OpType,
)
from trio_kafka.clients.blocking import open_admin
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.protocol.messages.k72_push_telemetry import PushTelemetryRequest


def test_metrics_that_a_client_has_pushed_are_shown(shell: Shell) -> None:
    assert "No client has pushed" in shell.run("client", "metrics").decode()
    expected = [
        AlterConfigOp("metrics", "*", OpType.SET),
        AlterConfigOp("interval.ms", "1000", OpType.SET),
    ]
    with open_admin({"bootstrap.servers": shell.kafka.bootstrap}) as admin:
        resource = ConfigResource(ConfigResourceType.CLIENT_METRICS, "all")
        admin.incremental_alter_configs({resource: expected}).all()
    with open_client(parse_address(shell.kafka.bootstrap), 10, unknown="") as send:
        subscription = send(GetTelemetrySubscriptionsRequest(bytes(16)))
        push = PushTelemetryRequest(
            client_instance_id=subscription.client_instance_id,
            subscription_id=subscription.subscription_id,
            metrics=DATA,
        )
        assert send(push).error_code == 0

    table = shell.run("client", "metrics").decode().splitlines()
    document = json.loads(shell.run("client", "metrics", "trio-kafka", "--json"))
    other = json.loads(shell.run("client", "metrics", "--prefix", "org.b", "--json"))

    assert table[1].split() == ["trio-kafka", "org.a", "7", "node_id=1"]
    (client,) = document["clients"]
    assert client["pushes"] == 1
    assert client["metrics"] == [
        {
            "name": "org.a",
            "value": 7.0,
            "is_total": True,
            "time_ms": 5000,
            "labels": {"node_id": "1"},
        }
    ]
    assert other["clients"][0]["metrics"] == []
