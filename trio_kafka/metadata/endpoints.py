"""Addresses of brokers on a listener, and replicas that clients of that listener cannot reach.

A client gets the endpoint with the name of the listener that it uses.
"""

from collections.abc import Mapping

from trio_kafka.attributes import frozen
from trio_kafka.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionState,
)
from trio_kafka.model import NodeId

OnlineDirectories = Mapping[NodeId, tuple[bytes, ...]]
"""Directory ids by broker; empty for a broker that registered before directories had ids."""


@frozen
class NodeEndpoint:
    """A broker's address on one listener."""

    node: NodeId
    host: str
    port: int
    rack: str | None
    fenced: bool


def endpoint_on(image: MetadataImage, node: NodeId, listener: str) -> NodeEndpoint | None:
    """Return the address of a broker; None if it is not registered or not on this listener."""
    broker = image.brokers.get(node)
    if broker is None:
        return None
    for endpoint in broker.endpoints:
        if endpoint.name == listener:
            return NodeEndpoint(node, endpoint.host, endpoint.port, broker.rack, broker.fenced)
    return None


def endpoints_on(image: MetadataImage, listener: str) -> list[NodeEndpoint]:
    """Return the addresses of all brokers on this listener, also fenced ones, sorted by id."""
    endpoints = (endpoint_on(image, node, listener) for node in sorted(image.brokers))
    return [endpoint for endpoint in endpoints if endpoint is not None]


def online_directories(image: MetadataImage, listener: str) -> OnlineDirectories:
    """Return the directories of all brokers on this listener that are not fenced."""
    reached = endpoints_on(image, listener)
    return {
        endpoint.node: image.brokers[endpoint.node].log_dirs
        for endpoint in reached
        if not endpoint.fenced
    }


def offline_replicas(state: PartitionState, online: OnlineDirectories) -> list[NodeId]:
    """Return the replicas that a client cannot use.

    Their broker is not registered, fenced or not on the listener, or their directory is offline.
    online: `online_directories` of the listener, computed once for each response.
    Source: KIP-112, KIP-858.
    """
    return [node for node in state.replicas if not _is_online(state, node, online)]


def _is_online(state: PartitionState, node: NodeId, online: OnlineDirectories) -> bool:
    directories = online.get(node)
    if directories is None:
        return False
    directory = state.directory(node)
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    # A broker that registered before directories had ids lists none.
    return directory != LOST_DIRECTORY and (not directories or directory in directories)
