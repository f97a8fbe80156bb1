"""Settings that Kafka removed or deprecated, with their replacements.

Source: the upgrade notes of Apache Kafka 4.0 to 4.4; KIP-1148, KIP-1237.
"""

from collections.abc import Mapping
from typing import Final

_ZOOKEEPER: Final = "ZooKeeper mode is not supported: leave it out"
_LISTENERS: Final = "use listeners and advertised.listeners"
_FORMAT: Final = "records have one format: leave it out"
_FEATURE: Final = "it is a feature of the cluster now, metadata.version: leave it out"
_PREFIXES: Final = {"zookeeper.": _ZOOKEEPER, "password.encoder.": "leave it out"}
_REMOVED: Final[Mapping[str, str]] = {
    "advertised.host.name": _LISTENERS,
    "advertised.port": _LISTENERS,
    "auto.include.jmx.reporter": "use metric.reporters",
    "broker.id.generation.enable": "use node.id",
    "controlled.shutdown.max.retries": "leave it out",
    "controlled.shutdown.retry.backoff.ms": "leave it out",
    "delegation.token.master.key": "use delegation.token.secret.key",
    "host.name": _LISTENERS,
    "inter.broker.protocol.version": _FEATURE,
    "leader.imbalance.per.broker.percentage": "leave it out",
    "log.message.downconversion.enable": _FORMAT,
    "log.message.format.version": _FORMAT,
    "log.message.timestamp.difference.max.ms": (
        "use log.message.timestamp.before.max.ms and log.message.timestamp.after.max.ms"
    ),
    "offsets.commit.required.acks": "leave it out",
    "port": _LISTENERS,
    "reserved.broker.max.id": "use node.id",
}
DEPRECATED: Final[Mapping[str, str]] = {
    "broker.id": "use node.id",
    "group.coordinator.rebalance.protocols": "features of the cluster decide",
    "log.cleaner.enable": "leave it out",
    "remote.log.manager.thread.pool.size": "use the sizes of the single pools",
}


def replacement_of(name: str) -> str | None:
    """Return what to do about a removed name; None for any other name."""
    for prefix, instead in _PREFIXES.items():
        if name.startswith(prefix):
            return instead
    return _REMOVED.get(name)
