"""Descriptions of the cluster by newer and by older brokers."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.cluster import describe_cluster
from trio_kafka.clients.errors import UnsupportedError
from trio_kafka.protocol.messages.k60_describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)


def test_brokers_are_in_order_and_fenced_ones_are_marked():
    rows = [
        DescribeClusterBroker(3, "c", 1, "rack", is_fenced=True),
        DescribeClusterBroker(2, "b", 1),
    ]
    response = DescribeClusterResponse(cluster_id="id", controller_id=2, brokers=rows)
    cluster = Cluster({DescribeClusterRequest: lambda _request: response})

    description = cluster.run(describe_cluster(include_fenced_brokers=True))

    assert [(node.node_id, node.rack, node.is_fenced) for node in description.nodes] == [
        (2, None, False),
        (3, "rack", True),
    ]
    assert description.authorized_operations is None
    assert cluster.requests[0][1].include_fenced_brokers


def test_broker_without_this_request_is_asked_for_metadata():
    cluster = Cluster({DescribeClusterRequest: lambda _request: UnsupportedError("too old")})

    description = cluster.run(describe_cluster())

    assert [node.node_id for node in description.nodes] == [1, 2]
    assert description.controller_id == 2
