"""GetTelemetrySubscriptions (key 71): tell a client which metrics to push, and how often.

Never waits. Without the extra `telemetry` no metrics are requested. Source: KIP-714.

Needs no permission, as in Kafka.
"""

import trio

from trio_kafka.protocol.messages.k71_get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.client_labels import client_labels
from trio_kafka.requests.context import Context
from trio_kafka.telemetry.client_telemetry import CODECS, ClientTelemetry


@api(GetTelemetrySubscriptionsRequest)
def get_telemetry_subscriptions(
    request: GetTelemetrySubscriptionsRequest, context: Context
) -> GetTelemetrySubscriptionsResponse:
    telemetry = context[ClientTelemetry]
    client = telemetry.subscribe(
        request.client_instance_id, client_labels(context), trio.current_time()
    )
    return GetTelemetrySubscriptionsResponse(
        client_instance_id=client.id,
        subscription_id=client.subscription.id,
        accepted_compression_types=[int(codec) for codec in CODECS],
        push_interval_ms=client.subscription.interval_ms,
        telemetry_max_bytes=telemetry.limits.largest,
        delta_temporality=True,
        requested_metrics=list(client.subscription.metrics),
    )
