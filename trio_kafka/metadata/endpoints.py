"""Where a broker is, for a client of a listener: the endpoint of the same name."""

from attrs import frozen

from trio_kafka.metadata.image import MetadataImage
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
