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


def test_endpoint_of_a_broker_is_the_address_of_the_named_listener() -> None:
    assert endpoint_on(IMAGE, ONE, "A") == NodeEndpoint(ONE, "h1", 10, "r1", fenced=False)
    assert endpoint_on(IMAGE, ONE, "B") == NodeEndpoint(ONE, "h1", 11, "r1", fenced=False)
    assert endpoint_on(IMAGE, THREE, "A") == NodeEndpoint(THREE, "h3", 30, "r3", fenced=True)


def test_broker_that_is_unknown_or_not_on_the_listener_has_no_endpoint() -> None:
    assert endpoint_on(IMAGE, NodeId(9), "A") is None
    assert endpoint_on(IMAGE, TWO, "A") is None
    assert endpoint_on(IMAGE, ONE, "a") is None


def test_endpoints_of_a_listener_are_sorted_by_broker_id() -> None:
    assert [(endpoint.node, endpoint.fenced) for endpoint in endpoints_on(IMAGE, "A")] == [
        (ONE, False),
        (THREE, True),
    ]
    assert [endpoint.port for endpoint in endpoints_on(IMAGE, "B")] == [11, 20, 31]
    assert endpoints_on(IMAGE, "C") == []


def test_replica_is_offline_when_its_broker_is_unknown_fenced_or_not_on_the_listener() -> None:
    state = PartitionState(replicas=(THREE, ONE, TWO, NodeId(9)), isr=(ONE,))

    assert offline_replicas(state, online_directories(IMAGE, "A")) == [THREE, TWO, NodeId(9)]
    assert offline_replicas(state, online_directories(IMAGE, "B")) == [THREE, NodeId(9)]


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
    one = attrs.evolve(IMAGE.brokers[ONE], log_dirs=there)
    image = attrs.evolve(IMAGE, brokers={ONE: one})
    state = PartitionState(replicas=(ONE,), isr=(ONE,), directories=(directory,))

    assert offline_replicas(state, online_directories(image, "A")) == ([ONE] if offline else [])
