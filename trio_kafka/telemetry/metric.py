"""Metrics of clients: Kafka's names, and the names under which they are pushed (KIP-714)."""

from collections.abc import Mapping, Sequence
from typing import Final

from trio_kafka.attributes import frozen

ALL_METRICS: Final = "*"
_DOMAIN: Final = "org.apache.kafka"


@frozen
class MetricName:
    """Name as in Kafka's JMX beans. group: such as `producer-metrics`. tags: sorted by name."""

    name: str
    group: str
    tags: tuple[tuple[str, str], ...] = ()


@frozen(kw_only=True)
class Metric:
    """Value of a metric at one moment. is_total: it only grows; else it is a gauge."""

    name: MetricName
    value: float
    is_total: bool = False


@frozen(kw_only=True)
class Point:
    """Value of a metric as it is pushed.

    name: such as `org.apache.kafka.producer.record.send.total`. is_sum: it counts events.
    is_delta: only those since the start. start_s, time_s: of the wall clock.
    """

    name: str
    value: float
    attributes: Mapping[str, str]
    time_s: float
    start_s: float = 0.0
    is_sum: bool = False
    is_delta: bool = False


def pushed_name(name: MetricName) -> str:
    """Return the name of a metric when it is pushed.

    Source: TelemetryMetricNamingConvention of Apache Kafka 4.4.0.
    """
    group = name.group.lower().replace("-", ".").replace(".metrics", "")
    return f"{_DOMAIN}.{group}.{name.name.lower().replace('-', '.')}"


def pushed_attributes(name: MetricName) -> dict[str, str]:
    """Return the tags of a metric when it is pushed."""
    return {key.lower().replace("-", "_"): value for key, value in name.tags}


def is_requested(name: str, prefixes: Sequence[str]) -> bool:
    """Return whether a subscription asks for a metric: by a prefix of its pushed name, or all."""
    return list(prefixes) == [ALL_METRICS] or any(map(name.startswith, prefixes))
