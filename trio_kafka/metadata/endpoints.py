"""Where a broker is, for a client of a listener: the endpoint of the same name; and which replicas
that client cannot reach.
"""

from attrs import frozen

from trio_kafka.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    MetadataImage,
    PartitionState,
)
from trio_kafka.model import NodeId


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


def offline_replicas(image: MetadataImage, state: PartitionState, listener: str) -> list[NodeId]:
    """The replicas that clients of this listener cannot use: their broker is not registered, fenced
    or not on the listener, or their directory is not online.

    Source: KIP-112, KIP-858.
    """
    return [node for node in state.replicas if not _is_online(image, state, node, listener)]


def _is_online(image: MetadataImage, state: PartitionState, node: NodeId, listener: str) -> bool:
    endpoint = endpoint_on(image, node, listener)
    if endpoint is None or endpoint.fenced:
        return False
    directory = state.directory(node)
    if directory in (UNASSIGNED_DIRECTORY, MIGRATING_DIRECTORY):
        return True
    there = image.brokers[node].log_dirs
    # A broker that registered before directories had ids names none.
    return directory != LOST_DIRECTORY and (not there or directory in there)
