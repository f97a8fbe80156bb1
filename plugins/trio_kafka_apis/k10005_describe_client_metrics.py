"""DescribeClientMetrics (key 10005, ours): the metrics that clients have pushed to this broker.

Never waits; a client is written when its turn comes, so that the response is no snapshot.

Needs DESCRIBE on the cluster.
"""

from collections.abc import Mapping

import trio

from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
    DescribeClientMetricsResponse,
    MetricLabel,
    PushedMetric,
    PushingClient,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.security.operations import Operation
from trio_kafka.telemetry.client_telemetry import ClientTelemetry
from trio_kafka.telemetry.instances import ClientInstance


@api(DescribeClientMetricsRequest)
def describe_client_metrics(
    request: DescribeClientMetricsRequest, context: Context
) -> DescribeClientMetricsResponse:
    context.authorize(Operation.DESCRIBE, cluster=True)
    instances, now = context[ClientTelemetry].instances, trio.current_time()
    instances.expire(now)
    selected = [
        instance
        for instance in instances
        if request.client_id in (None, instance.labels["client_id"])
    ]
    return DescribeClientMetricsResponse(
        clients=lazily(selected, lambda instance: _client(instance, request.prefix, now))
    )


def _client(instance: ClientInstance, prefix: str, now: float) -> PushingClient:
    return PushingClient(
        instance_id=instance.id,
        client_id=instance.labels["client_id"],
        interval_ms=instance.subscription.interval_ms,
        pushes=instance.pushes,
        silent_ms=int((now - instance.seen) * 1000),
        skipped=instance.skipped,
        labels=_labels({**instance.labels, **instance.resource}),
        metrics=[
            PushedMetric(
                name=point.name,
                value=point.value,
                is_total=point.is_sum,
                time_ms=int(point.time_s * 1000),
                labels=_labels(point.attributes),
            )
            for point in instance.values.values()
            if point.name.startswith(prefix)
        ],
    )


def _labels(texts: Mapping[str, str]) -> list[MetricLabel]:
    return [MetricLabel(name, value) for name, value in sorted(texts.items())]
