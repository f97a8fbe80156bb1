"""Where a broker is, for a client of a listener: the endpoint of the same name; and which replicas
that client cannot reach.
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

# Directory ids by broker; none for one that registered before directories had ids.
OnlineDirectories = Mapping[NodeId, tuple[bytes, ...]]


@frozen
class NodeEndpoint:
    """A broker's address on one listener."""

    node: NodeId
    host: str
    port: int
    rack: str | None
    fenced: bool


def endpoint_on(image: MetadataImage, node: NodeId, listener: str) -> NodeEndpoint | None:
    """None for a broker that is not registered, or has no endpoint on this listener."""
    broker = image.brokers.get(node)
    if broker is None:
        return None
    for endpoint in broker.endpoints:
        if endpoint.name == listener:
            return NodeEndpoint(node, endpoint.host, endpoint.port, broker.rack, broker.fenced)
    return None


def endpoints_on(image: MetadataImage, listener: str) -> list[NodeEndpoint]:
    """All brokers that have an endpoint on this listener, fenced ones too, by their ids."""
    found = (endpoint_on(image, node, listener) for node in sorted(image.brokers))
    return [endpoint for endpoint in found if endpoint is not None]


def online_directories(image: MetadataImage, listener: str) -> OnlineDirectories:
    """The brokers that clients of this listener can use, those that are fenced left out."""
    reached = endpoints_on(image, listener)
    return {one.node: image.brokers[one.node].log_dirs for one in reached if not one.fenced}


def offline_replicas(state: PartitionState, online: OnlineDirectories) -> list[NodeId]:
    """The replicas that a client cannot use: their broker is not registered, fenced or not on the
    client's listener, or their directory is not online.

    online: `online_directories` of the listener, looked up once for all partitions of an answer.
    Source: KIP-112, KIP-858.
    """
    return [node for node in state.replicas if not _is_online(state, node, online)]


def _is_online(state: PartitionState, node: NodeId, online: OnlineDirectories) -> bool:
    there = online.get(node)
    if there is None:
        return False
    directory = state.directory(node)
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    # A broker that registered before directories had ids names none.
    return directory != LOST_DIRECTORY and (not there or directory in there)
