"""Where brokers are, for clients of a listener."""

from trio_kafka.metadata.endpoints import NodeEndpoint, endpoint_on, endpoints_on
from trio_kafka.metadata.image import BrokerRegistration, ListenerEndpoint, MetadataImage
from trio_kafka.model import NodeId

ONE, TWO, THREE = NodeId(1), NodeId(2), NodeId(3)


def broker(node: NodeId, *listeners: str, fenced: bool = False) -> BrokerRegistration:
    """At host h<node>, with a port for each listener from 10 * node on."""
    return BrokerRegistration(
        id=node,
        epoch=0,
        incarnation_id=bytes(16),
        endpoints=tuple(
            ListenerEndpoint(name, f"h{node}", 10 * node + n, 0) for n, name in enumerate(listeners)
        ),
        rack=f"r{node}",
        fenced=fenced,
    )


IMAGE = MetadataImage(
    brokers={
        THREE: broker(THREE, "A", "B", fenced=True),
        ONE: broker(ONE, "A", "B"),
        TWO: broker(TWO, "B"),
    }
)


def test_a_broker_is_where_its_listener_of_that_name_is() -> None:
    assert endpoint_on(IMAGE, ONE, "A") == NodeEndpoint(ONE, "h1", 10, "r1", fenced=False)
    assert endpoint_on(IMAGE, ONE, "B") == NodeEndpoint(ONE, "h1", 11, "r1", fenced=False)
    assert endpoint_on(IMAGE, THREE, "A") == NodeEndpoint(THREE, "h3", 30, "r3", fenced=True)


def test_a_broker_that_is_unknown_or_not_on_the_listener_is_nowhere() -> None:
    assert endpoint_on(IMAGE, NodeId(9), "A") is None
    assert endpoint_on(IMAGE, TWO, "A") is None
    assert endpoint_on(IMAGE, ONE, "a") is None


def test_all_brokers_of_a_listener_come_by_their_ids() -> None:
    assert [(one.node, one.fenced) for one in endpoints_on(IMAGE, "A")] == [
        (ONE, False),
        (THREE, True),
    ]
    assert [one.port for one in endpoints_on(IMAGE, "B")] == [11, 20, 31]
    assert endpoints_on(IMAGE, "C") == []
