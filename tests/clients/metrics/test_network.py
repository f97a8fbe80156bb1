"""Counters of connections, of all and of each broker."""

from trio_kafka.clients.metrics.network import NetworkMetrics
from trio_kafka.clients.metrics.registry import MetricRegistry


def test_requests_count_for_the_client_and_for_their_broker() -> None:
    registry = MetricRegistry(0.0)
    network = NetworkMetrics(registry, "producer")
    network.note_request(1, 100)
    network.note_request(2, 10)
    network.note_received(1, 50)
    network.note_response(1, 0.25, 1.0)

    values = {
        (metric.name.group, dict(metric.name.tags).get("node-id"), metric.name.name): metric.value
        for metric in registry.read(2.0)
    }

    assert values["producer-metrics", None, "request-total"] == 2
    assert values["producer-metrics", None, "outgoing-byte-total"] == 110
    assert values["producer-metrics", None, "response-total"] == 1
    assert values["producer-node-metrics", "node-1", "incoming-byte-total"] == 50
    assert values["producer-node-metrics", "node-1", "request-latency-max"] == 250.0
    assert values["producer-node-metrics", "node-2", "outgoing-byte-total"] == 10


def test_response_after_a_long_pause_begins_a_window() -> None:
    registry = MetricRegistry(0.0, window_s=1.0)
    network = NetworkMetrics(registry, "consumer")
    network.note_request(1, 100)
    network.note_response(1, 9.0, 9.0)

    values = {metric.name.name: metric.value for metric in registry.read(9.5)}

    assert values["request-rate"] == 0.0
    assert values["request-latency-max"] == 9000.0
