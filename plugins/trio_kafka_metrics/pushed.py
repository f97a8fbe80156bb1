"""Metrics that clients have pushed (KIP-714), within the bound of series of clients' texts."""

from typing import Final

from trio_kafka.plugin import Kind
from trio_kafka.requests.parts import MissingPartError, Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.telemetry.client_telemetry import ClientTelemetry
from trio_kafka_metrics.metric_values import MetricValues, native

_LABELS: Final = ("client_id", "client_instance_id", "metric", "attributes")
GAUGES = native(
    "client_value", Kind.GAUGE, "Last value of a metric that a client has pushed.", *_LABELS
)
TOTALS = native(
    "client_events_total", Kind.COUNTER, "Events that a client has pushed, summed up.", *_LABELS
)
CLIENTS = native("telemetry_clients", Kind.GAUGE, "Clients with a telemetry subscription.")
SERIES = native("telemetry_series", Kind.GAUGE, "Series that clients have pushed, and are kept.")


def read_pushed(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, a client in each step."""
    try:
        instances = parts[ClientTelemetry].instances
    except MissingPartError:
        return
    collected.set(CLIENTS, len(instances))
    collected.set(SERIES, instances.kept)
    for instance in instances:
        if not collected.take(len(instance.values)):
            continue
        client, number = instance.labels["client_id"], instance.labels["client_instance_id"]
        for (name, attributes), point in instance.values.items():
            text = ",".join(f"{key}={value}" for key, value in attributes)
            metric = TOTALS if point.is_sum else GAUGES
            collected.set(metric, point.value, client, number, name, text)
        yield
