"""Names of pushed metrics. Source: KIP-714 and TelemetryMetricNamingConvention."""

import pytest

from trio_kafka.telemetry.metric import MetricName, is_requested, pushed_attributes, pushed_name


@pytest.mark.parametrize(
    ("group", "name", "pushed"),
    [
        ("producer-metrics", "record-send-rate", "org.apache.kafka.producer.record.send.rate"),
        (
            "consumer-fetch-manager-metrics",
            "fetch-latency-avg",
            "org.apache.kafka.consumer.fetch.manager.fetch.latency.avg",
        ),
        (
            "producer-node-metrics",
            "request-latency-max",
            "org.apache.kafka.producer.node.request.latency.max",
        ),
    ],
)
def test_pushed_name_is_the_one_of_kafka(group: str, name: str, pushed: str) -> None:
    assert pushed_name(MetricName(name, group)) == pushed


def test_tags_are_pushed_with_underscores() -> None:
    name = MetricName("request-rate", "producer-node-metrics", (("node-id", "node-1"),))

    assert pushed_attributes(name) == {"node_id": "node-1"}


@pytest.mark.parametrize(
    ("prefixes", "expected"),
    [
        (["*"], True),
        (["org.apache.kafka.producer."], True),
        (["org.apache.kafka.consumer.", "org.apache.kafka.producer.record"], True),
        (["org.apache.kafka.consumer."], False),
        (["*", "x"], False),
        ([""], True),
        ([], False),
    ],
)
def test_subscription_asks_for_metrics_by_prefix(prefixes: list[str], expected: bool) -> None:
    assert is_requested("org.apache.kafka.producer.record.send.rate", prefixes) is expected
