"""Answers of all brokers together."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.calls.call import Rejection
from trio_kafka.clients.admin.listings import list_everywhere
from trio_kafka.clients.errors import ClientError, UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest
from trio_kafka.testing.sample_apis import EchoRequest, EchoResponse


def listed(*answers):
    """Listings of two brokers, or their errors."""
    left_over = list(answers)
    cluster = Cluster(
        {
            DescribeClusterRequest: lambda _request: UnsupportedError("too old"),
            EchoRequest: lambda _request: EchoResponse(),
        }
    )
    results = cluster.run(list_everywhere(lambda: EchoRequest(""), lambda _: left_over.pop(0)))
    assert [node for node, _ in cluster.requests][1:] == [1, 2]
    return results


def test_each_broker_is_asked_and_names_are_sorted():
    listings = listed({"c": 3, "a": 1}, {"b": 2})

    assert list(listings.items()) == [("a", 1), ("b", 2), ("c", 3)]
    assert listings.all() == {"a": 1, "b": 2, "c": 3}
    assert listings.by_broker[2] == {"b": 2}


def test_part_of_the_brokers_that_answer_is_kept():
    listings = listed(Rejection(ErrorCode.CLUSTER_AUTHORIZATION_FAILED), {"b": 2})

    assert (dict(listings), len(listings)) == ({"b": 2}, 1)
    assert list(listings.by_broker.errors) == [1]
    with pytest.raises(ClientError, match="CLUSTER_AUTHORIZATION_FAILED"):
        listings.all()
