"""DescribeClientMetrics (key 10005): what clients have pushed (KIP-714). Ours, not Kafka's."""

from typing import ClassVar

from trio_kafka.protocol.fields import array, boolean, float64, int16, int32, int64, string, uuid
from trio_kafka.protocol.schema import request, response, struct


@request(key=10005, versions="0", flexible="0+")
class DescribeClientMetricsRequest:
    """Selection: clients with this client id, null: all; metrics whose names begin so."""

    response: ClassVar[type["DescribeClientMetricsResponse"]]

    client_id: str | None = string(nullable="0+", default=None)
    prefix: str = string(default="")


@struct
class MetricLabel:
    """Attribute of a metric, or label of a client."""

    name: str = string()
    value: str = string()


@struct
class PushedMetric:
    """Last value of a gauge, or sum of all pushes. is_total: it counts events. time_ms: of it."""

    name: str = string()
    value: float = float64()
    is_total: bool = boolean()
    time_ms: int = int64()
    labels: list[MetricLabel] = array(MetricLabel)


@struct
class PushingClient:
    """One client. silent_ms: since its last request. skipped: series above the bounds."""

    instance_id: bytes = uuid()
    client_id: str = string()
    interval_ms: int = int32()
    pushes: int = int64()
    silent_ms: int = int64()
    skipped: int = int64()
    labels: list[MetricLabel] = array(MetricLabel)
    metrics: list[PushedMetric] = array(PushedMetric)


@response(DescribeClientMetricsRequest)
class DescribeClientMetricsResponse:
    """Clients, by id."""

    error_code: int = int16()
    error_message: str | None = string(nullable="0+", default=None)
    clients: list[PushingClient] = array(PushingClient)
