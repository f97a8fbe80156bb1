"""The broker in the eyes of its controller, as parts: its lifecycle and its registration."""

from collections.abc import Mapping
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.broker.dynamic_listeners import DynamicListeners
from trio_kafka.broker.lifecycle import Lifecycle
from trio_kafka.broker.listeners import advertised_endpoints
from trio_kafka.broker.node import Node, Part, Stage, at_once
from trio_kafka.config.broker import BrokerConfig
from trio_kafka.controller.controller import Controller
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.partition_metadata import parse_id
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.metadata.image import ListenerEndpoint
from trio_kafka.metadata.publisher import MetadataCache
from trio_kafka.requests.parts import Lifecycle as LifecycleFace

_logger: Final = get_logger(__name__)


@frozen
class Registration:
    """Addresses that this broker registers for clients, by listener name."""

    advertised: Mapping[str, ListenerEndpoint]


def _make_lifecycle(node: Node) -> Lifecycle:
    return Lifecycle(
        node.node_id,
        node.world.random_bytes(16),
        node[Controller],
        metadata=node[MetadataCache],
        node=node.tree,
    )


async def _leave(node: Node) -> None:
    """Move leaders, or give up partitions, while this broker still serves."""
    lifecycle = node[Lifecycle]
    lifecycle.leave()
    if not node.config.controlled_shutdown_enable or node.is_broken:
        await trio.lowlevel.checkpoint()
        return
    try:
        moved = await lifecycle.shut_down(trio.current_effective_deadline())
    except KafkaError as error:
        _logger.warning("controlled shutdown failed", reason=str(error))
    else:
        if not moved:
            _logger.warning("controlled shutdown incomplete, this broker still leads partitions")


async def _register(node: Node) -> Registration:
    """Register this broker with its bound addresses, then ask to be unfenced."""
    lifecycle, listeners, config = node[Lifecycle], node[DynamicListeners], node.config
    with node.start.step("registration"):
        host_name = await _host_name(node, listeners.bound)
        advertised = advertised_endpoints(listeners.bound, listeners.endpoints, host_name)
        await lifecycle.register(
            advertised,
            _directory_ids(node[LogManager]),
            config.broker_rack,
            timeout_s=config.initial_broker_registration_timeout_ms / 1000,
        )
        await node.tasks.start("lifecycle-manager", lifecycle.run)
    with node.start.step("unfence"):
        await lifecycle.unfence()
    return Registration({endpoint.name: endpoint for endpoint in advertised})


async def _host_name(node: Node, config: BrokerConfig) -> str:
    """Return the name of this machine if an advertised address needs it."""
    if all(advertised.endpoint.host for advertised in config.endpoints.advertised):
        return ""
    return await node.world.network.host_name()


def _directory_ids(logs: LogManager) -> list[bytes]:
    """Return the ids of the online directories."""
    return [
        parse_id(directory.properties.directory_id)
        for directory in logs.directories
        if directory.properties and directory.properties.directory_id and not directory.offline
    ]


LIFECYCLE: Final = Part(
    kind=Lifecycle,
    open=at_once(_make_lifecycle),
    stops={Stage.LEAVING: _leave},
    face=LifecycleFace,
    serve=lambda node: node[Lifecycle].serve(),
)
REGISTRATION: Final = Part(kind=Registration, open=_register)
