"""Requests about transactional ids."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.transactions import (
    describe_transactions,
    fence_producers,
    list_transactions,
)
from trio_kafka.clients.errors import ClientError, UnsupportedError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages import k65_describe_transactions as k65
from trio_kafka.protocol.messages import k66_list_transactions as k66
from trio_kafka.protocol.messages.k22_init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from trio_kafka.protocol.messages.k60_describe_cluster import DescribeClusterRequest


def listing(response):
    return Cluster(
        {
            DescribeClusterRequest: lambda _request: UnsupportedError("too old"),
            k66.ListTransactionsRequest: lambda _request: response,
        }
    )


def test_filters_go_to_each_broker():
    row = k66.TransactionState("a", 7, "Ongoing")
    cluster = listing(k66.ListTransactionsResponse(transaction_states=[row]))

    listings = cluster.run(
        list_transactions(states=["Ongoing"], producer_ids=[7], longer_than_ms=5, pattern="a.*")
    ).all()

    assert (listings["a"].producer_id, listings["a"].state) == (7, "Ongoing")
    _, (first, request), (second, _) = cluster.requests
    assert (first, second) == (1, 2)
    assert (request.state_filters, request.producer_id_filters) == (["Ongoing"], [7])
    assert (request.duration_filter, request.transactional_id_pattern) == (5, "a.*")


def test_state_that_a_broker_does_not_know_is_an_error():
    cluster = listing(k66.ListTransactionsResponse(unknown_state_filters=["Open"]))

    with pytest.raises(ClientError, match="the broker knows no state Open"):
        cluster.run(list_transactions(states=["Open"])).all()


def test_open_transaction_has_a_start_and_partitions():
    def answer(request):
        rows = [
            k65.TransactionState(0, name, "Ongoing", 60_000, 99, 7, 3, [k65.TopicData("t", [1])])
            if name == "a"
            else k65.TransactionState(0, name, "Empty", 60_000, -1, 8, 0)
            for name in request.transactional_ids
        ]
        return k65.DescribeTransactionsResponse(transaction_states=rows)

    results = Cluster({k65.DescribeTransactionsRequest: answer}).run(
        describe_transactions(["a", "b"])
    )

    first, second = results["a"], results["b"]
    assert (first.producer_id, first.producer_epoch, first.transaction_timeout_ms) == (7, 3, 60_000)
    assert (first.transaction_start_time_ms, first.partitions) == (99, {TopicPartition("t", 1)})
    assert (second.transaction_start_time_ms, second.partitions) == (None, frozenset())


def test_fence_waits_until_the_transaction_is_aborted_and_asks_for_one_id_at_a_time():
    codes = [ErrorCode.CONCURRENT_TRANSACTIONS, 0, 0]

    def answer(request):
        assert request.transaction_timeout_ms == 5000
        return InitProducerIdResponse(error_code=codes.pop(0), producer_id=7, producer_epoch=4)

    cluster = Cluster({InitProducerIdRequest: answer})

    results = cluster.run(fence_producers(["a", "c"])).all()

    assert [request.transactional_id for _, request in cluster.requests] == ["a", "c", "a"]
    assert (results["a"].producer_id, results["a"].producer_epoch) == (7, 4)
