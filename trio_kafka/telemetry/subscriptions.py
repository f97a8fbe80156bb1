"""Subscriptions of a cluster to metrics of clients, and what they ask of one client. No I/O."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from crc32c import crc32c

from trio_kafka.attributes import frozen
from trio_kafka.config.client_metrics import (
    ClientMetricsConfig,
    client_metrics_config,
    patterns_of,
)
from trio_kafka.config.setting import ConfigError
from trio_kafka.telemetry.metric import ALL_METRICS

if TYPE_CHECKING:
    import re2

DEFAULT_INTERVAL_MS: Final = ClientMetricsConfig().interval_ms
_BITS: Final = 0xFFFFFFFF
_SIGN: Final = 1 << 31


@frozen(kw_only=True)
class ClientSubscription:
    """Metrics that one client is to push.

    id: changes with the rest, and differs from client to client.
    """

    id: int
    metrics: tuple[str, ...] = ()
    interval_ms: int = DEFAULT_INTERVAL_MS


@frozen
class _Rule:
    config: ClientMetricsConfig
    patterns: Mapping[str, "re2._Regexp[str]"]

    def matches(self, labels: Mapping[str, str]) -> bool:
        return all(
            pattern.fullmatch(labels.get(label, "")) for label, pattern in self.patterns.items()
        )


class Subscriptions:
    """All subscriptions. texts: settings by name of the subscription; unreadable ones count not."""

    def __init__(self, texts: Mapping[str, Mapping[str, str]]) -> None:
        self._rules = []
        for values in texts.values():
            try:
                config = client_metrics_config(values)
                self._rules.append(_Rule(config, patterns_of(config.match)))
            except ConfigError:  # of another release: the controller checks new ones
                continue

    def of(self, instance_id: bytes, labels: Mapping[str, str]) -> ClientSubscription:
        """Return what a client is to push: the union of all that match, at the shortest interval.

        labels: see `config.client_metrics.LABELS`.
        """
        configs = [rule.config for rule in self._rules if rule.matches(labels)]
        metrics = tuple(sorted({name for config in configs for name in config.metrics}))
        if ALL_METRICS in metrics:
            metrics = (ALL_METRICS,)
        interval_ms = min([DEFAULT_INTERVAL_MS, *(config.interval_ms for config in configs)])
        number = crc32c(f"{metrics}{interval_ms}".encode()) ^ crc32c(instance_id)
        signed = ((number & _BITS) ^ _SIGN) - _SIGN
        return ClientSubscription(id=signed, metrics=metrics, interval_ms=interval_ms)
