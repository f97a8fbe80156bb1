"""Rules for a change of settings, checked before it is written to the metadata log.

A broker setting is rejected if it cannot change while the broker runs, or not for all brokers at
once, if it is out of bounds, or if it contradicts another one. Kafka answers INVALID_REQUEST for
broker settings, INVALID_CONFIG for topic settings (`topic.validate_topic_configs`). Source:
KIP-226, KIP-255, KIP-405; Apache Kafka 4.4.0 for the rules of thread pools, listeners and cleaners.
"""

from collections.abc import Collection, Mapping
from typing import Final

import attrs

from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.catalogue import why_without_effect
from trio_kafka.config.dynamic import Layers, check_dynamic, value_of
from trio_kafka.config.endpoints import parse_protocol_map
from trio_kafka.config.listener_overrides import has_override, override_name, value_for
from trio_kafka.config.rules import check_cordoned
from trio_kafka.config.sasl import ENABLED
from trio_kafka.config.sasl_listener import OVER_SASL, sasl_of
from trio_kafka.config.setting import ConfigError

# Pools that grow or shrink by at most a factor of two in one change.
_POOLS: Final = (
    "background.threads",
    "log.cleaner.threads",
    "num.io.threads",
    "num.recovery.threads.per.data.dir",
    "num.replica.fetchers",
)
_PROCESSORS: Final = "num.network.threads"
_OF_CONNECTIONS: Final = ("max.connections", "max.connection.creation.rate")
_PROTOCOLS: Final = "listener.security.protocol.map"


def check_broker_change(
    layers: Layers,
    settings: Mapping[str, str],
    *,
    per_broker: bool,
    registered: Collection[str] = (),
) -> tuple[str, ...]:
    """Check a change, and return a warning for each name without an effect.

    layers: before the change.
    settings: all settings of the resource after it, by name: this broker's own if `per_broker`,
        those of all brokers otherwise.
    registered: names of the listeners in this broker's registration.
    Raises ConfigError, which names the setting and never shows a secret.
    """
    before = layers.dynamic if per_broker else layers.dynamic_default
    warnings = []
    for name, text in settings.items():
        if before.get(name) != text:
            check_dynamic(name, text, per_broker=per_broker)
            if reason := why_without_effect(name):
                warnings.append(f"{name} {reason}")
    if per_broker:
        after = attrs.evolve(layers, dynamic=settings)
    else:
        after = attrs.evolve(layers, dynamic_default=settings)
    readable_before, readable = layers.usable()[0], after.usable()[0]
    old = _in_force(readable_before)
    _check_protocols(old, readable)
    config = readable.effective()
    _check_listeners(old, config, registered)
    _check_sasl(old, config)
    _check_pools(readable_before, readable)
    _check_processors(old, config)
    _check_limits(old, config)
    _check_local_retention(config)
    check_cordoned(config)
    return tuple(warnings)


def _in_force(readable: Layers) -> BrokerConfig:
    """Return the effective configuration; the static one if the layers contradict each other."""
    try:
        return readable.effective()
    except ConfigError:
        return readable.config


def _check_protocols(before: BrokerConfig, after: Layers) -> None:
    """Reject another protocol for an open listener."""
    protocols = parse_protocol_map(str(value_of(_PROTOCOLS, after)))
    for listener in before.endpoints.broker:
        if protocols.get(listener.name, listener.protocol) is not listener.protocol:
            reason = (
                f"{listener.name} is open with {listener.protocol.name}: a restart can change that"
            )
            raise ConfigError(_PROTOCOLS, reason)


def _check_listeners(
    before: BrokerConfig, after: BrokerConfig, registered: Collection[str]
) -> None:
    """Reject the removal of a registered listener."""
    remaining = {listener.name for listener in after.endpoints.broker}
    removed = [
        listener.name for listener in before.endpoints.broker if listener.name not in remaining
    ]
    if missing := [name for name in removed if name in registered]:
        names = ", ".join(missing)
        reason = f"{names} is registered with the cluster: keep it until this broker restarts"
        raise ConfigError("listeners", reason)


def _check_sasl(before: BrokerConfig, after: BrokerConfig) -> None:
    """Reject other mechanisms or users for an open listener, as Kafka does."""
    open_before = {listener.name for listener in before.endpoints.broker}
    for listener in after.endpoints.broker:
        if (
            listener.protocol in OVER_SASL
            and listener.name in open_before
            and sasl_of(before, listener.name) != sasl_of(after, listener.name)
        ):
            reason = f"cannot change for {listener.name}, which is open: a restart can do that"
            raise ConfigError(ENABLED, reason)


def _check_pools(before: Layers, after: Layers) -> None:
    for name in _POOLS:
        old, new = int(str(value_of(name, before))), int(str(value_of(name, after)))
        _check_pool(name, old, new)


def _check_processors(before: BrokerConfig, after: BrokerConfig) -> None:
    """Check the processors of each listener that stays; the control plane always has one."""
    served = {listener.name for listener in before.endpoints.broker} - {before.endpoints.control}
    for listener in (endpoint.name for endpoint in after.endpoints.broker):
        if listener in served:
            own = has_override(after, listener, _PROCESSORS)
            old, new = (
                int(str(value_for(config, listener, _PROCESSORS))) for config in (before, after)
            )
            _check_pool(override_name(listener, _PROCESSORS) if own else _PROCESSORS, old, new)


def _check_pool(name: str, old: int, new: int) -> None:
    if new != old and (new < 1 or new < old // 2 or new > old * 2):
        reason = f"{new} is too far from {old}: want {max(1, old // 2)} to {max(1, old * 2)}"
        raise ConfigError(name, reason)


def _check_limits(before: BrokerConfig, after: BrokerConfig) -> None:
    """Reject limits that shut out all connections of a listener, or of the broker.

    The broker's own limit also holds for listeners with limits of their own.
    """
    for name in _OF_CONNECTIONS:
        field = name.replace(".", "_")
        _check_limit(name, getattr(before, field), getattr(after, field))
        for listener in (endpoint.name for endpoint in after.endpoints.broker):
            old, new = (int(str(value_for(config, listener, name))) for config in (before, after))
            own = has_override(after, listener, name)
            _check_limit(override_name(listener, name) if own else name, old, new)


def _check_limit(name: str, old: int, new: int) -> None:
    if new != old and new <= 0:
        raise ConfigError(name, f"{new} would reject every connection: want at least 1")


def _check_local_retention(config: BrokerConfig) -> None:
    """Check that the local retention of tiered topics is within the whole retention."""
    for unit, whole, local in (
        ("ms", _retention_ms(config), config.log_local_retention_ms),
        ("bytes", config.log_retention_bytes, config.log_local_retention_bytes),
    ):
        if whole < 0 or local == -2:
            continue
        if local == -1 or local > whole:
            reason = f"{local} is not within log.retention.{unit}, which is {whole}: lower it"
            raise ConfigError(f"log.local.retention.{unit}", reason)


def _retention_ms(config: BrokerConfig) -> int:
    if config.log_retention_ms is not None:
        return config.log_retention_ms
    if config.log_retention_minutes is not None:
        return config.log_retention_minutes * 60_000
    return config.log_retention_hours * 3_600_000
