"""Prometheus names of Kafka's JMX beans, as dashboards use them.

They are the names that Strimzi's example rules for the JMX exporter give the beans; a test compares
this module with the rules. Beans that no rule matches have no name.
"""

import re
from typing import Final

from attrs import frozen

from trio_kafka.plugin import Kind

PERCENTILES: Final = "Percentiles"  # a histogram: its quantiles and its count together
QUANTILES: Final = (0.5, 0.75, 0.95, 0.98, 0.99, 0.999)

_ILLEGAL: Final = re.compile(r"[^a-z0-9_]")
_BARE: Final = {
    "raft-metrics": "kafka_server_raftmetrics",
    "broker-metadata-metrics": "kafka_server_brokermetadatametrics",
    "socket-server-metrics": "kafka_server_socket_server_metrics",
}
_CONNECTIONS: Final = "connections"
_CONNECTIONS_BY: Final = {"cipher": "tls_info", "clientSoftwareName": "software"}
_STATE: Final = "current-state"


class UnnamedError(ValueError):
    """No rule matches this bean."""


@frozen
class Exposed:
    """Name and labels of an exposed attribute. labels: names in the order of the bean's keys."""

    name: str
    kind: Kind
    labels: tuple[str, ...]


def exposed(bean: str, attribute: str = "Value") -> Exposed:
    """Return name and labels of a bean's attribute. Raises UnnamedError.

    bean: `domain:type=…,name=…,key={key}`.
    """
    domain, _, listed = bean.partition(":")
    keys = dict(pair.split("=", 1) for pair in listed.split(","))
    kind, name = keys.pop("type"), keys.pop("name", None)
    labels = tuple(keys)
    if name is None:
        return _bare(bean, kind=kind, attribute=attribute, labels=labels)
    stem = f"{domain}_{kind}_{name}"
    if attribute in ("Value", "MeanRate") and name.endswith("Percent"):
        return Exposed(_plain(f"{stem.removesuffix('Percent')}_percent"), Kind.GAUGE, labels)
    if attribute == "Value":
        return Exposed(_plain(stem), Kind.GAUGE, labels)
    if attribute == "Count" and name.endswith("PerSec"):
        return Exposed(_plain(f"{stem.removesuffix('PerSec')}_total"), Kind.COUNTER, labels)
    if attribute in ("Count", PERCENTILES):
        return Exposed(_plain(stem), Kind.SUMMARY, labels)
    raise UnnamedError(f"{bean}, {attribute}")


def _bare(bean: str, *, kind: str, attribute: str, labels: tuple[str, ...]) -> Exposed:
    """Return the name for a bean without `name=`, which has many attributes."""
    if kind not in _BARE:
        raise UnnamedError(bean)
    name = _plain(f"{_BARE[kind]}_{attribute}")
    if attribute == _CONNECTIONS:
        name += f"_{_CONNECTIONS_BY[labels[0]]}"
    if attribute == _STATE:
        labels = (_plain(_STATE),)
    return Exposed(name, Kind.GAUGE, labels)


def quantile_label(quantile: float) -> str:
    """Format a quantile like the rules: 0.50, 0.999."""
    return f"{quantile:.2f}" if quantile < 0.995 else f"{quantile:.3f}"


def _plain(name: str) -> str:
    return _ILLEGAL.sub("_", name.lower())
