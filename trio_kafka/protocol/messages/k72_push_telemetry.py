"""PushTelemetry (key 72): a client pushes metrics (KIP-714)."""

from typing import ClassVar

from trio_kafka.protocol.schema import boolean, bytes_, int8, int16, int32, request, response, uuid


@request(key=72, versions="0", flexible="0+")
class PushTelemetryRequest:
    """Metrics as OTLP, optionally compressed."""

    response: ClassVar[type["PushTelemetryResponse"]]

    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    terminating: bool = boolean()
    compression_type: int = int8()
    metrics: bytes = bytes_()


@response(PushTelemetryRequest)
class PushTelemetryResponse:
    """Result of a push of client metrics."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
