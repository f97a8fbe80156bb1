"""GetTelemetrySubscriptions (key 71): a client asks which metrics to push (KIP-714)."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, int8, int16, int32, string, uuid
from trio_kafka.protocol.schema import request, response


@request(key=71, versions="0", flexible="0+")
class GetTelemetrySubscriptionsRequest:
    """The client's instance id; zero requests a new one."""

    response: ClassVar[type["GetTelemetrySubscriptionsResponse"]]

    client_instance_id: bytes = uuid()


@response(GetTelemetrySubscriptionsRequest)
class GetTelemetrySubscriptionsResponse:
    """Metrics to push, the interval and the compression types."""

    throttle_time_ms: int = int32()
    error_code: int = int16()
    client_instance_id: bytes = uuid()
    subscription_id: int = int32()
    accepted_compression_types: list[int] = array(int8)
    push_interval_ms: int = int32()
    telemetry_max_bytes: int = int32()
    delta_temporality: bool = boolean()
    requested_metrics: list[str] = array(string)
