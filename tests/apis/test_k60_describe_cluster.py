"""DescribeCluster: who is there, where, and whether it serves."""

import attrs
import pytest
import trio
from trio.testing import MockClock

from tests.apis.kit import TWO_LISTENERS, broker, lead_elsewhere, stable
from trio_kafka.errors import ErrorCode
from trio_kafka.model import NO_NODE
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.security.operations import NOT_ASKED, OF_CLUSTER
from trio_kafka.testing.broker import ServedBroker


async def fence(served: ServedBroker) -> None:
    """Fence broker 1 in the eyes of its handlers, behind the controller's back."""
    cache = served.broker.metadata
    me = attrs.evolve(cache.image.brokers[served.broker.parts.node_id], fenced=True)
    cache.image = attrs.evolve(cache.image, brokers={**cache.image.brokers, me.id: me})
    await trio.lowlevel.checkpoint()


@pytest.mark.parametrize("version", stable(DescribeClusterRequest))
async def test_the_cluster_and_its_brokers_are_described_in_every_version(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker({"broker.rack": "r1"}) as served:
        answer = await served.ask(DescribeClusterRequest(), version)
        image, port = served.broker.metadata.image, served.broker.endpoint.port

    assert (answer.error_code, answer.error_message) == (0, None)
    assert (answer.cluster_id, answer.controller_id, answer.endpoint_type) == (
        image.cluster_id,
        1,
        1,
    )
    assert [(node.broker_id, node.host, node.port, node.rack) for node in answer.brokers] == [
        (1, "127.0.0.1", port, "r1")
    ]
    assert answer.cluster_authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", stable(DescribeClusterRequest))
async def test_authorized_operations_of_the_cluster_are_returned_on_request(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        request = DescribeClusterRequest(include_cluster_authorized_operations=True)

        assert (await served.ask(request, version)).cluster_authorized_operations == OF_CLUSTER


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (2, ErrorCode.MISMATCHED_ENDPOINT_TYPE),
        (0, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
        (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE),
    ],
)
async def test_a_request_for_controller_endpoints_is_refused(
    autojump_clock: MockClock, version: int, kind: int, code: ErrorCode
) -> None:
    async with broker() as served:
        answer = await served.ask(DescribeClusterRequest(endpoint_type=kind), version)

    assert (answer.error_code, answer.brokers) == (code, [])
    assert answer.error_message


async def test_brokers_have_the_endpoints_of_the_listener_that_received_the_request(
    autojump_clock: MockClock,
) -> None:
    async with broker(TWO_LISTENERS) as served:
        for name in ("ONE", "TWO"):
            async with served.connect(name) as client:
                (node,) = (await client.ask(DescribeClusterRequest(), 2)).brokers
                assert node.port == served.broker.endpoints[name].port


@pytest.mark.parametrize("version", stable(DescribeClusterRequest))
async def test_a_fenced_broker_is_listed_only_on_request(
    autojump_clock: MockClock, version: int
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await lead_elsewhere(served)
        await fence(served)
        answer = await served.ask(DescribeClusterRequest(), version)
        if version >= 2:
            with_fenced = await served.ask(DescribeClusterRequest(include_fenced_brokers=True), 2)
            nodes = [(node.broker_id, node.is_fenced) for node in with_fenced.brokers]
            assert nodes == [(1, True), (7, False)]
            assert with_fenced.controller_id == NO_NODE

    assert [(node.broker_id, node.is_fenced) for node in answer.brokers] == [(7, False)]
    assert answer.controller_id == NO_NODE
