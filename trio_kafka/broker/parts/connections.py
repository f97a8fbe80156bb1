"""Connection limits as a part of the node, and request memory, as configured."""

from collections.abc import Callable
from typing import Final

from trio_kafka.broker.node import Node, Part, Stage, tasks_end
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.config.connections import overrides_of
from trio_kafka.config.listener_overrides import has_override, value_for
from trio_kafka.metadata.effective import DynamicSettings
from trio_kafka.network.admission.limits import ConnectionLimits
from trio_kafka.network.memory import MemoryPool
from trio_kafka.quotas.connection import ConnectionBounds, ListenerBounds

_TASK: Final = "connection-limits"
_PER_LISTENER: Final = ("max.connections", "max.connection.creation.rate")


async def _open(node: Node) -> ConnectionLimits:
    """Start the limits of all planes; they follow the settings."""
    config = node.config
    limits = ConnectionLimits(
        node.world.network,
        node.counters,
        node.tree,
        protected=_protected(config),
        windows=config.quota_window_num,
        window_ms=config.quota_window_size_seconds * 1000,
    )
    node[DynamicSettings].follow(lambda current: limits.obey(bounds_of(current)))
    await node.tasks.start(_TASK, limits.run)
    return limits


def _protected(config: BrokerConfig) -> list[str]:
    """Return the listeners through which a full broker is still reachable."""
    endpoints = config.endpoints
    return [name for name in (endpoints.control, endpoints.inter_broker) if name is not None]


def request_memory(config: BrokerConfig, elapsed: Callable[[], float]) -> MemoryPool | None:
    """Return the memory pool of one plane; None: no limit."""
    size = config.queued_max_request_bytes
    return MemoryPool(size, elapsed) if size > 0 else None


def bounds_of(config: BrokerConfig) -> ConnectionBounds:
    """Return the connection limits in force."""
    return ConnectionBounds(
        connections=config.max_connections,
        rate=config.max_connection_creation_rate,
        per_address=config.max_connections_per_ip,
        addresses=overrides_of(config.max_connections_per_ip_overrides),
        listeners={
            listener.name: _listener_bounds(config, listener.name)
            for listener in config.endpoints.broker
            if any(has_override(config, listener.name, name) for name in _PER_LISTENER)
        },
    )


def _listener_bounds(config: BrokerConfig, listener: str) -> ListenerBounds:
    connections, rate = (int(str(value_for(config, listener, name))) for name in _PER_LISTENER)
    return ListenerBounds(connections=connections, rate=rate)


LIMITS: Final = Part(
    kind=ConnectionLimits,
    open=_open,
    stops={Stage.HANDLERS: tasks_end(_TASK)},
)
