"""`trio-kafka client metrics`: what clients have pushed to a broker (KIP-714)."""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from typing import Final
from uuid import UUID

from trio_kafka.cli.broker_client import parse_address, send_request
from trio_kafka.cli.broker_options import declare_broker
from trio_kafka.cli.output import LEFT, RIGHT, columns, declare_json, print_answer
from trio_kafka.protocol.messages.k10005_describe_client_metrics import (
    DescribeClientMetricsRequest,
    MetricLabel,
    PushedMetric,
    PushingClient,
)

UNKNOWN: Final = "the server has no API DescribeClientMetrics: only a trio-kafka broker has it"
_HEAD: Final = ("client", "metric", "value", "labels")
_NONE: Final = (
    "No client has pushed metrics to this broker: `kafka-client-metrics.sh` says which are wanted."
)


def declare(parser: ArgumentParser) -> None:
    parser.add_argument("client", nargs="?", metavar="CLIENT", help="only this client id")
    parser.add_argument(
        "--prefix", default="", metavar="TEXT", help="only metrics whose names begin so"
    )
    declare_broker(parser)
    declare_json(parser, "one JSON object: `clients`, each with its `metrics`")


def metrics(*, client: str | None, prefix: str, bootstrap: str, timeout: float, json: bool) -> int:
    """Show the metrics that clients push to a broker, as they were last pushed."""
    request = DescribeClientMetricsRequest(client_id=client, prefix=prefix)
    answer = send_request(request, parse_address(bootstrap), timeout, unknown=UNKNOWN)
    return print_answer(answer.clients, as_data, as_text, json=json)


def as_data(clients: Sequence[PushingClient]) -> dict[str, object]:
    """Return the clients for JSON."""
    rows = [
        {
            "client_id": client.client_id,
            "instance_id": str(UUID(bytes=bytes(client.instance_id))),
            "interval_ms": client.interval_ms,
            "pushes": client.pushes,
            "silent_ms": client.silent_ms,
            "skipped": client.skipped,
            "labels": _labels(client.labels),
            "metrics": [_metric(metric) for metric in client.metrics],
        }
        for client in clients
    ]
    return {"clients": rows}


def as_text(clients: Sequence[PushingClient]) -> Iterator[str]:
    """Yield the lines of a table."""
    if not clients:
        yield _NONE
        return
    rows = [
        [
            client.client_id,
            metric.name,
            f"{metric.value:.6g}",
            " ".join(f"{name}={value}" for name, value in _labels(metric.labels).items()),
        ]
        for client in clients
        for metric in client.metrics
    ]
    yield from columns(_HEAD, rows, [LEFT, LEFT, RIGHT, LEFT])


def _metric(metric: PushedMetric) -> dict[str, object]:
    return {
        "name": metric.name,
        "value": metric.value,
        "is_total": metric.is_total,
        "time_ms": metric.time_ms,
        "labels": _labels(metric.labels),
    }


def _labels(labels: Sequence[MetricLabel]) -> dict[str, str]:
    return {label.name: label.value for label in labels}
