"""PushTelemetry (key 72): take the metrics of a client.

Never waits. What is pushed is decoded at once, within bounds, and shown by DescribeClientMetrics
and `/metrics`. Source: KIP-714.

Needs no permission, as in Kafka.
"""

import trio

from trio_kafka.protocol.messages.k72_push_telemetry import (
    PushTelemetryRequest,
    PushTelemetryResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.client_labels import client_labels
from trio_kafka.requests.context import Context
from trio_kafka.telemetry.client_telemetry import ClientTelemetry


@api(PushTelemetryRequest)
def push_telemetry(request: PushTelemetryRequest, context: Context) -> PushTelemetryResponse:
    context[ClientTelemetry].push(
        request.client_instance_id,
        client_labels(context),
        trio.current_time(),
        subscription_id=request.subscription_id,
        codec=request.compression_type,
        data=bytes(request.metrics),
        terminating=request.terminating,
    )
    return PushTelemetryResponse()
