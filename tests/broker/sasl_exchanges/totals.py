"""Counters of logins after all cases, by listener: those of Kafka's beans, and ours.

They show which ends of an exchange count as a failure, which the bytes do not.
"""

import re
from collections import Counter
from collections.abc import Mapping
from typing import Final

from tests.broker.sasl_exchanges.brokers import LISTENERS, TLS
from tests.clients.kafka_tools.jvm import ask_tool
from trio_kafka.model import Endpoint
from trio_kafka.requests.parts import Parts
from trio_kafka_metrics.metric_values import MetricValues
from trio_kafka_metrics.network import read_network

ATTRIBUTES: Final = (
    "successful-authentication-total",
    "successful-authentication-no-reauth-total",
    "failed-authentication-total",
    "successful-reauthentication-total",
    "failed-reauthentication-total",
    "expired-connections-killed-count",
)
COUNTED: Final = (*LISTENERS, TLS)
_BEANS: Final = "kafka.server:type=socket-server-metrics"
_OURS: Final = "kafka_server_socket_server_metrics_"
Totals = dict[str, list[str]]  # lines of the record, by a name for the listener


def totals_of_kafka(jmx: Endpoint) -> Totals:
    """Read the beans of a JVM by Kafka's own tool."""
    sums = {listener: Counter[str]() for listener in COUNTED}
    for listener in COUNTED:
        done = ask_tool(
            "JmxTool",
            *("--jmx-url", f"service:jmx:rmi:///jndi/rmi://{jmx.host}:{jmx.port}/jmxrmi"),
            *("--object-name", f"{_BEANS},listener={listener},networkProcessor=*"),
            *("--attributes", ",".join(ATTRIBUTES)),
            *("--one-time", "--report-format", "properties"),
        )
        assert done.status == 0, done.errors
        for name, value in re.findall(r"([a-z-]+(?:-total|-count))=([0-9.]+)", done.printed):
            sums[listener][name] += int(float(value))
    return _lines(sums)


def totals_of(parts: Parts) -> Totals:
    """Read the metrics of this broker."""
    values = MetricValues(10_000)
    for _ in read_network(parts, values):
        pass
    sums = {listener: Counter[str]() for listener in COUNTED}
    for attribute in ATTRIBUTES:
        family = values.families[_OURS + attribute.replace("-", "_")]
        for _, labels, value in family.samples():
            sums[dict(labels)["listener"]][attribute] += int(value)
    return _lines(sums)


def _lines(sums: Mapping[str, Counter[str]]) -> Totals:
    return {
        f"metrics of {listener}": [f"  {name} {counts[name]}" for name in ATTRIBUTES]
        for listener, counts in sums.items()
    }
