"""Requests about the quorum, elections and registrations."""

import pytest

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.quorum import (
    ElectionType,
    describe_metadata_quorum,
    elect_leaders,
    unregister_broker,
)
from trio_kafka.clients.errors import ClientError
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages import k43_elect_leaders as k43
from trio_kafka.protocol.messages import k55_describe_quorum as k55
from trio_kafka.protocol.messages.k64_unregister_broker import (
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def quorum(response):
    cluster = Cluster({k55.DescribeQuorumRequest: lambda _request: response})
    return cluster, cluster.run(describe_metadata_quorum())


def test_quorum_has_the_progress_of_voters_and_observers():
    voter = k55.ReplicaState(1, bytes(15) + b"d", 100, 7, 8)
    observer = k55.ReplicaState(2, bytes(16), 90, -1, -1)
    row = k55.PartitionResult(0, 0, None, 1, 5, 99, [voter], [observer])
    topic = k55.TopicResult("__cluster_metadata", [row])

    cluster, info = quorum(k55.DescribeQuorumResponse(topics=[topic]))

    assert (info.leader_id, info.leader_epoch, info.high_watermark) == (1, 5, 99)
    (first,), (second,) = info.voters, info.observers
    assert (first.replica_id, first.directory_id, first.log_end_offset) == (
        1,
        bytes(15) + b"d",
        100,
    )
    assert (first.last_fetch_timestamp, first.last_caught_up_timestamp) == (7, 8)
    assert (second.last_fetch_timestamp, second.last_caught_up_timestamp) == (None, None)
    ((_, request),) = cluster.requests
    assert request.topics[0].topic_name == "__cluster_metadata"


@pytest.mark.parametrize(
    ("response", "words"),
    [
        (k55.DescribeQuorumResponse(31, "no"), "CLUSTER_AUTHORIZATION_FAILED: no"),
        (k55.DescribeQuorumResponse(), "an answer without the quorum"),
        (
            k55.DescribeQuorumResponse(
                topics=[k55.TopicResult("t", [k55.PartitionResult(0, 3, "gone")])]
            ),
            "gone",
        ),
    ],
)
def test_error_is_one_of_the_request_or_of_the_partition(response, words):
    with pytest.raises(ClientError, match=words):
        quorum(response)


def test_election_has_a_kind_and_a_result_for_each_partition():
    rows = [k43.PartitionResult(0), k43.PartitionResult(1, 84, "not needed")]
    response = k43.ElectLeadersResponse(
        replica_election_results=[k43.ReplicaElectionResult("t", rows)]
    )
    cluster = Cluster({k43.ElectLeadersRequest: lambda _request: response})

    results = cluster.run(elect_leaders(ElectionType.UNCLEAN, [T0, T1]))

    assert results[T0] is None
    assert results.errors[T1].code is ErrorCode.ELECTION_NOT_NEEDED
    ((_, request),) = cluster.requests
    assert (request.election_type, request.timeout_ms) == (1, 5000)
    assert request.topic_partitions[0].partitions == [0, 1]
    refusal = k43.ElectLeadersResponse(error_code=31)
    cluster = Cluster({k43.ElectLeadersRequest: lambda _request: refusal})
    assert set(cluster.run(elect_leaders(ElectionType.PREFERRED, [T0, T1])).errors) == {T0, T1}


def test_broker_that_is_not_registered_is_an_error():
    codes = [0, ErrorCode.BROKER_ID_NOT_REGISTERED]
    cluster = Cluster(
        {UnregisterBrokerRequest: lambda _request: UnregisterBrokerResponse(0, codes.pop(0), None)}
    )

    assert cluster.run(unregister_broker(7)) is None
    with pytest.raises(ClientError, match="BROKER_ID_NOT_REGISTERED"):
        cluster.run(unregister_broker(7))
    assert cluster.requests[0][1].broker_id == 7
