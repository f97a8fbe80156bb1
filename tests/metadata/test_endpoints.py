"""Where brokers are, for clients of a listener."""

import attrs
import pytest

from trio_kafka.metadata.endpoints import (
    NodeEndpoint,
    endpoint_on,
    endpoints_on,
    offline_replicas,
    online_directories,
)
from trio_kafka.metadata.image import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    UNASSIGNED_DIRECTORY,
    BrokerRegistration,
    ListenerEndpoint,
    MetadataImage,
    PartitionState,
)
from trio_kafka.model import NodeId

NODE_1, NODE_2, NODE_3 = NodeId(1), NodeId(2), NodeId(3)


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
        NODE_3: broker(NODE_3, "A", "B", fenced=True),
        NODE_1: broker(NODE_1, "A", "B"),
        NODE_2: broker(NODE_2, "B"),
    }
)


def test_endpoint_of_a_broker_is_the_address_of_the_named_listener() -> None:
    assert endpoint_on(IMAGE, NODE_1, "A") == NodeEndpoint(NODE_1, "h1", 10, "r1", fenced=False)
    assert endpoint_on(IMAGE, NODE_1, "B") == NodeEndpoint(NODE_1, "h1", 11, "r1", fenced=False)
    assert endpoint_on(IMAGE, NODE_3, "A") == NodeEndpoint(NODE_3, "h3", 30, "r3", fenced=True)


def test_broker_that_is_unknown_or_not_on_the_listener_has_no_endpoint() -> None:
    assert endpoint_on(IMAGE, NodeId(9), "A") is None
    assert endpoint_on(IMAGE, NODE_2, "A") is None
    assert endpoint_on(IMAGE, NODE_1, "a") is None


def test_endpoints_of_a_listener_are_sorted_by_broker_id() -> None:
    assert [(endpoint.node, endpoint.fenced) for endpoint in endpoints_on(IMAGE, "A")] == [
        (NODE_1, False),
        (NODE_3, True),
    ]
    assert [endpoint.port for endpoint in endpoints_on(IMAGE, "B")] == [11, 20, 31]
    assert endpoints_on(IMAGE, "C") == []


def test_replica_is_offline_when_its_broker_is_unknown_fenced_or_not_on_the_listener() -> None:
    state = PartitionState(replicas=(NODE_3, NODE_1, NODE_2, NodeId(9)), isr=(NODE_1,))

    assert offline_replicas(state, online_directories(IMAGE, "A")) == [NODE_3, NODE_2, NodeId(9)]
    assert offline_replicas(state, online_directories(IMAGE, "B")) == [NODE_3, NodeId(9)]


@pytest.mark.parametrize(
    ("directory", "there", "offline"),
    [
        (b"d" * 16, (b"c" * 16, b"d" * 16), False),
        (b"d" * 16, (b"c" * 16,), True),
        (b"d" * 16, (), False),  # the broker registered before directories had ids
        (UNASSIGNED_DIRECTORY, (b"c" * 16,), False),
        (MIGRATING_DIRECTORY, (b"c" * 16,), False),
        (LOST_DIRECTORY, (b"c" * 16,), True),
        (LOST_DIRECTORY, (), True),
    ],
)
def test_replica_is_offline_when_its_directory_is_offline(
    directory: bytes, there: tuple[bytes, ...], offline: bool
) -> None:
    registration = attrs.evolve(IMAGE.brokers[NODE_1], log_dirs=there)
    image = attrs.evolve(IMAGE, brokers={NODE_1: registration})
    state = PartitionState(replicas=(NODE_1,), isr=(NODE_1,), directories=(directory,))

    assert offline_replicas(state, online_directories(image, "A")) == ([NODE_1] if offline else [])
