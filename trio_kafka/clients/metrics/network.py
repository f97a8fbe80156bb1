"""Metrics of the connections of a client: those of all, and those of each broker."""

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.metrics.measures import Distribution, Total
from trio_kafka.clients.metrics.registry import MetricRegistry


@define(eq=False)
class NodeMetrics:
    """Counters of one broker. latency: of its requests, in ms."""

    requests: Total
    responses: Total
    sent: Total
    received: Total
    latency: Distribution


@define(eq=False)
class NetworkMetrics:
    """Counters of all connections of a client. kind: `producer`, `consumer` or `admin-client`."""

    registry: MetricRegistry
    kind: str
    connections: Total = field(init=False)
    requests: Total = field(init=False)
    responses: Total = field(init=False)
    sent: Total = field(init=False)
    received: Total = field(init=False)
    _nodes: dict[int, NodeMetrics] = field(factory=dict, init=False)

    def __attrs_post_init__(self) -> None:
        group = self.registry.group(f"{self.kind}-metrics")
        self.connections = group.total("connection-creation")
        self.requests = group.total("request")
        self.responses = group.total("response")
        self.sent = group.total("outgoing-byte")
        self.received = group.total("incoming-byte")

    def node(self, number: int) -> NodeMetrics:
        """Return the counters of a broker. The name is Kafka's: `node-1`, or `node--1`."""
        node = self._nodes.get(number)
        if node is None:
            group = self.registry.group(f"{self.kind}-node-metrics", node_id=f"node-{number}")
            node = self._nodes[number] = NodeMetrics(
                group.total("request"),
                group.total("response"),
                group.total("outgoing-byte"),
                group.total("incoming-byte"),
                group.distribution("request-latency"),
            )
        return node

    def note_request(self, number: int, size: int) -> None:
        """Count a request of `size` bytes."""
        node = self.node(number)
        self.requests.value += 1
        self.sent.value += size
        node.requests.value += 1
        node.sent.value += size

    def note_response(self, number: int, latency_s: float, now: float) -> None:
        """Count a response, and shift the windows."""
        self.registry.roll(now)
        node = self.node(number)
        self.responses.value += 1
        node.responses.value += 1
        node.latency.record(latency_s * 1000)

    def note_received(self, number: int, size: int) -> None:
        """Count received bytes."""
        self.received.value += size
        self.node(number).received.value += size
