"""The limits of connections, and of the memory of their requests, as the settings have them."""

from collections.abc import Callable
from typing import Final

from trio_kafka.broker.site import Site
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.connections import overrides_of
from trio_kafka.config.listener_overrides import has_override, value_for
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.quotas.connection import ConnectionBounds, ListenerBounds
from trio_kafka.wire.memory import MemoryPool

# The task.
LIMITS: Final = "connection-limits"
_OF_LISTENERS: Final = ("max.connections", "max.connection.creation.rate")


def make_limits(site: Site) -> ConnectionLimits:
    """The limits of all planes; they allow everything before `start_limits`."""
    config = site.config
    return ConnectionLimits(
        site.world.network,
        site.counters,
        site.node,
        protected=_protected(config),
        windows=config.quota_window_num,
        window_ms=config.quota_window_size_seconds * 1000,
    )


def _protected(config: BrokerConfig) -> list[str]:
    """Those by which a full broker is still reached."""
    endpoints = config.endpoints
    return [name for name in (endpoints.control, endpoints.inter_broker) if name is not None]


async def start_limits(site: Site, limits: ConnectionLimits, dynamic: DynamicSettings) -> None:
    """Let them follow the settings; their task runs."""
    dynamic.follow(lambda current: limits.obey(bounds_of(current)))
    await site.tasks.start(LIMITS, limits.run)


def request_memory(config: BrokerConfig, elapsed: Callable[[], float]) -> MemoryPool | None:
    """Of one plane; None: as much as its requests take."""
    size = config.queued_max_request_bytes
    return MemoryPool(size, elapsed) if size > 0 else None


def bounds_of(config: BrokerConfig) -> ConnectionBounds:
    """What is in force."""
    return ConnectionBounds(
        connections=config.max_connections,
        rate=config.max_connection_creation_rate,
        per_address=config.max_connections_per_ip,
        addresses=overrides_of(config.max_connections_per_ip_overrides),
        listeners={
            listener.name: _of_listener(config, listener.name)
            for listener in config.endpoints.broker
            if any(has_override(config, listener.name, name) for name in _OF_LISTENERS)
        },
    )


def _of_listener(config: BrokerConfig, listener: str) -> ListenerBounds:
    connections, rate = (int(str(value_for(config, listener, name))) for name in _OF_LISTENERS)
    return ListenerBounds(connections=connections, rate=rate)
