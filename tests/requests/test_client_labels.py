"""Labels of clients. `tests/apis/test_k71_get_telemetry_subscriptions.py` matches them."""

from trio.testing import MockClock

from tests.apis.kit import broker
from trio_kafka.config.client_metrics import LABELS
from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
)
from trio_kafka.telemetry.client_telemetry import ClientTelemetry


async def test_broker_has_every_label_of_a_client(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.ask(GetTelemetrySubscriptionsRequest(bytes(16)), 0)
        (client,) = served.broker.parts[ClientTelemetry].instances

    assert client.labels.keys() == LABELS
    assert client.labels["client_source_address"] == "127.0.0.1"
