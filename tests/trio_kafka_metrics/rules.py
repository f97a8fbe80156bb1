"""Metrics of the JMX exporter for Kafka's beans, by the rules of Strimzi's example.

Source: kafka-metrics.yaml among the metrics examples of strimzi-kafka-operator, for Kafka 4.3, and
for RequestMetrics, which those leave out, the same file of Strimzi 0.19, from which older boards
have their names. Patterns are searched for anywhere in `domain<key=value, key=value><>attribute:
value`; the first that is found counts. Names are made lower case, with `_` for what is illegal.
"""

import re
from collections.abc import Iterator, Mapping
from typing import Final

from attrs import Factory, frozen

_TOPIC: Final = r", topic=(.+), partition=(.*)"
_LABEL: Final = r", (.+)=(.+)"
_TWO_LABELS: Final = r", (.+)=(.+), (.+)=(.+)"
_SECOND: Final = {r"\4": r"\5", r"\6": r"\7"}
_NOT_REQUESTS: Final = "(?!RequestMetrics)"


@frozen
class Rule:
    """Templates of Python's `re`. old: of the older file alone."""

    pattern: str
    name: str
    labels: Mapping[str, str] = Factory(dict)
    old: bool = False


def _generic(but: str, *, old: bool = False) -> tuple[list[Rule], list[Rule]]:
    """Counters by second, and the counts and quantiles of histograms; but: types they leave out."""
    head = rf"kafka.(\w+)<type={but}(.+), name=(.+)"
    third = {r"\4": r"\5"}
    return [
        Rule(rf"{head}PerSec\w*{_TWO_LABELS}><>Count", r"kafka_\1_\2_\3_total", _SECOND, old),
        Rule(rf"{head}PerSec\w*{_LABEL}><>Count", r"kafka_\1_\2_\3_total", third, old),
        Rule(rf"{head}PerSec\w*><>Count", r"kafka_\1_\2_\3_total", {}, old),
    ], [
        Rule(rf"{head}{_TWO_LABELS}><>Count", r"kafka_\1_\2_\3_count", _SECOND, old),
        Rule(
            rf"{head}{_TWO_LABELS}><>(\d+)thPercentile",
            r"kafka_\1_\2_\3",
            {**_SECOND, "quantile": r"0.\8"},
            old,
        ),
        Rule(rf"{head}{_LABEL}><>Count", r"kafka_\1_\2_\3_count", third, old),
        Rule(
            rf"{head}{_LABEL}><>(\d+)thPercentile",
            r"kafka_\1_\2_\3",
            {**third, "quantile": r"0.\6"},
            old,
        ),
        Rule(rf"{head}><>Count", r"kafka_\1_\2_\3_count", {}, old),
        Rule(rf"{head}><>(\d+)thPercentile", r"kafka_\1_\2_\3", {"quantile": r"0.\4"}, old),
    ]


_COUNTERS, _HISTOGRAMS = _generic(_NOT_REQUESTS)
_OLD_COUNTERS, _OLD_HISTOGRAMS = _generic("", old=True)
_CLIENT: Final = r"kafka.server<type=(.+)"
_PERCENT: Final = r"kafka.(\w+)<type=(.+), name=(.+)Percent\w*"
RULES: Final = (
    Rule(
        rf"{_CLIENT}, name=(.+), clientId=(.+){_TOPIC}><>Value",
        r"kafka_server_\1_\2",
        {"clientId": r"\3", "topic": r"\4", "partition": r"\5"},
    ),
    Rule(
        rf"{_CLIENT}, name=(.+), clientId=(.+), brokerHost=(.+), brokerPort=(.+)><>Value",
        r"kafka_server_\1_\2",
        {"clientId": r"\3", "broker": r"\4:\5"},
    ),
    Rule(
        rf"{_CLIENT}, cipher=(.+), protocol=(.+), listener=(.+)"
        r", networkProcessor=(.+)><>connections",
        r"kafka_server_\1_connections_tls_info",
        {"cipher": r"\2", "protocol": r"\3", "listener": r"\4", "networkProcessor": r"\5"},
    ),
    Rule(
        rf"{_CLIENT}, clientSoftwareName=(.+), clientSoftwareVersion=(.+), listener=(.+)"
        r", networkProcessor=(.+)><>connections",
        r"kafka_server_\1_connections_software",
        {
            "clientSoftwareName": r"\2",
            "clientSoftwareVersion": r"\3",
            "listener": r"\4",
            "networkProcessor": r"\5",
        },
    ),
    Rule(
        r"kafka.server<type=socket-server-metrics, listener=(.+), networkProcessor=(.+)>"
        r"<>connection-count",
        "kafka_server_socket_server_metrics_connection_count",
        {"listener": r"\1", "networkProcessor": r"\2"},
    ),
    # Files of releases between have every attribute of this bean; of them, those of logins.
    Rule(
        r"kafka.server<type=(.+), listener=(.+), networkProcessor=(.+)>"
        r"<>(\w+-(?:re)?authentication(?:-no-reauth)?-total|reauthentication-latency-\w+"
        r"|expired-connections-killed-count):",
        r"kafka_server_\1_\4",
        {"listener": r"\2", "networkProcessor": r"\3"},
        old=True,
    ),
    Rule(rf"{_PERCENT}><>MeanRate", r"kafka_\1_\2_\3_percent"),
    Rule(rf"{_PERCENT}><>Value", r"kafka_\1_\2_\3_percent"),
    Rule(rf"{_PERCENT}{_LABEL}><>Value", r"kafka_\1_\2_\3_percent", {r"\4": r"\5"}),
    *_COUNTERS,
    *_OLD_COUNTERS,
    Rule(rf"kafka.(\w+)<type=(.+), name=(.+){_TWO_LABELS}><>Value", r"kafka_\1_\2_\3", _SECOND),
    Rule(rf"kafka.(\w+)<type=(.+), name=(.+){_LABEL}><>Value", r"kafka_\1_\2_\3", {r"\4": r"\5"}),
    Rule(r"kafka.(\w+)<type=(.+), name=(.+)><>Value", r"kafka_\1_\2_\3"),
    *_HISTOGRAMS,
    *_OLD_HISTOGRAMS,
    Rule(r"kafka.server<type=raft-metrics><>(.+-total|.+-max):", r"kafka_server_raftmetrics_\1"),
    Rule(
        r"kafka.server<type=raft-metrics><>(current-state): (.+)",
        r"kafka_server_raftmetrics_\1",
        {r"\1": r"\2"},
    ),
    Rule(r"kafka.server<type=raft-metrics><>(.+):", r"kafka_server_raftmetrics_\1"),
    Rule(
        r"kafka.server<type=raft-channel-metrics>"
        r"<>(incoming-byte-total|outgoing-byte-total|request-total|response-total):",
        r"kafka_server_raftchannelmetrics_\1",
    ),
    Rule(
        r"kafka.server<type=broker-metadata-metrics><>(.+):",
        r"kafka_server_brokermetadatametrics_\1",
    ),
)

_METER: Final = (
    *("Count", "EventType", "FifteenMinuteRate", "FiveMinuteRate", "MeanRate"),
    *("OneMinuteRate", "RateUnit"),
)
_HISTOGRAM: Final = (
    *("50thPercentile", "75thPercentile", "95thPercentile", "98thPercentile", "999thPercentile"),
    *("99thPercentile", "Count", "Max", "Mean", "Min", "StdDev"),
)
ATTRIBUTES: Final = {
    "gauge": ("Value",),
    "meter": _METER,
    "histogram": _HISTOGRAM,
    "counter": ("Count",),
    "timer": (*_METER, *_HISTOGRAM, "LatencyUnit"),
}


@frozen
class Sample:
    """name, and the names of its labels; of which attribute of which bean."""

    name: str
    labels: frozenset[str]
    bean: str
    attribute: str


def samples_of(bean: str, kind: str | list[str]) -> Iterator[Sample]:
    """Samples of a bean by the rules. kind: one of `ATTRIBUTES`, or the attributes themselves."""
    for attribute in ATTRIBUTES[kind] if isinstance(kind, str) else kind:
        sample = _sample(bean, attribute)
        if sample is not None:
            yield sample


def _sample(bean: str, attribute: str) -> Sample | None:
    domain, _, keys = bean.partition(":")
    inside = re.sub(r"\{[^}]*\}", "v", keys).replace(",", ", ")
    text = f"{domain}<{inside}><>{attribute}: 1"
    for rule in RULES:
        match = re.search(rf"^.*(?:{rule.pattern}).*$", text)
        if match is not None:
            labels = {_safe(match.expand(name)) for name in rule.labels}
            name = _safe(match.expand(rule.name)).lower()
            return Sample(name, frozenset(labels), bean, attribute)
    return None


def _safe(name: str) -> str:
    return re.sub(r"[^a-zA-Z0-9_:]", "_", name)
