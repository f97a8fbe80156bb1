"""All metrics of a client: names, rates, windows."""

import pytest

from trio_kafka.clients.metrics.registry import MetricRegistry
from trio_kafka.telemetry.metric import Metric


def values(registry: MetricRegistry, now: float) -> dict[str, float]:
    return {metric.name.name: metric.value for metric in registry.read(now)}


def test_names_have_group_and_tags_as_in_kafka() -> None:
    registry = MetricRegistry(0.0, client_id="me")
    registry.group("producer-node-metrics", node_id="node-1").total("request")

    rate, total = registry.read(1.0)

    assert rate.name.name == "request-rate"
    assert rate.name.group == "producer-node-metrics"
    assert rate.name.tags == (("client-id", "me"), ("node-id", "node-1"))
    assert (rate.is_total, total.is_total) == (False, True)


def test_rate_of_a_young_client_counts_the_windows_before_it() -> None:
    registry = MetricRegistry(100.0, window_s=30.0)
    total = registry.group("g").total("record-send")
    total.value += 620

    assert values(registry, 101.0) == {"record-send-rate": 20.0, "record-send-total": 620}


def test_rate_is_about_the_last_windows() -> None:
    registry = MetricRegistry(0.0, window_s=30.0)
    total = registry.group("g").total("record-send")
    total.value += 1000
    registry.roll(31.0)
    total.value += 90
    registry.roll(61.0)
    total.value += 10

    assert values(registry, 70.0)["record-send-rate"] == pytest.approx(100 / 40)


def test_client_without_events_for_long_has_a_rate_of_zero_and_no_average() -> None:
    registry = MetricRegistry(0.0, window_s=30.0)
    group = registry.group("g")
    group.total("record-send").value += 7
    group.distribution("latency").record(3.0)

    late = values(registry, 1_000_000.0)

    assert (late["record-send-rate"], late["record-send-total"]) == (0.0, 7)
    assert late["latency-avg"] != late["latency-avg"]
    assert late["latency-max"] != late["latency-max"]


def test_readings_are_made_when_they_are_asked_for() -> None:
    registry = MetricRegistry(0.0)
    group = registry.group("g")
    group.gauge("age", lambda now: now - 1.0)
    group.count("commit-total", lambda _: 3)

    age, commits = registry.read(5.0)

    assert age.value == 4.0
    assert commits == Metric(name=commits.name, value=3, is_total=True)
