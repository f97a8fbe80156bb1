"""Who leads a partition, for clients that asked the wrong broker (KIP-951)."""

from typing import Final

from attrs import frozen

from trio_kafka.model import NodeId
from trio_kafka.plugin import Context, ErrorCode

LED_ELSEWHERE: Final = frozenset({ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.FENCED_LEADER_EPOCH})


@frozen
class Leader:
    """Where a client finds a broker, on the listener that it came through."""

    node: NodeId
    host: str
    port: int
    rack: str | None


def endpoint_of(node: NodeId, context: Context) -> Leader | None:
    """None for a broker that is not there, or has no address on this listener."""
    broker = context.metadata.image.brokers.get(node)
    if broker is None or broker.fenced:
        return None
    for endpoint in broker.endpoints:
        if endpoint.name == context.listener:
            return Leader(node, endpoint.host, endpoint.port, broker.rack)
    return None
