"""Reassignments in messages."""

from tests.clients.admin.kit import Cluster
from trio_kafka.clients.admin.reassignments import (
    alter_partition_reassignments,
    list_partition_reassignments,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages import k45_alter_partition_reassignments as k45
from trio_kafka.protocol.messages import k46_list_partition_reassignments as k46

T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


def altered(response):
    cluster = Cluster({k45.AlterPartitionReassignmentsRequest: lambda _request: response})
    plan = alter_partition_reassignments(
        {T0: [2, 3], T1: None}, allow_replication_factor_change=False
    )
    return cluster, cluster.run(plan)


def test_move_names_brokers_and_a_cancellation_none():
    rows = [k45.ReassignablePartitionResponse(0), k45.ReassignablePartitionResponse(1, 85, "no")]
    cluster, results = altered(
        k45.AlterPartitionReassignmentsResponse(
            responses=[k45.ReassignableTopicResponse("t", rows)]
        )
    )

    assert results[T0] is None
    assert results.errors[T1].code is ErrorCode.NO_REASSIGNMENT_IN_PROGRESS
    ((_, request),) = cluster.requests
    assert [row.replicas for row in request.topics[0].partitions] == [[2, 3], None]
    assert (request.timeout_ms, request.allow_replication_factor_change) == (5000, False)


def test_error_of_the_request_is_one_of_each_partition():
    _, results = altered(k45.AlterPartitionReassignmentsResponse(error_code=31))

    assert set(results.errors) == {T0, T1}


def test_reassignment_in_progress_has_all_its_brokers():
    row = k46.OngoingPartitionReassignment(1, [1, 2, 3], [3], [1])
    response = k46.ListPartitionReassignmentsResponse(
        topics=[k46.OngoingTopicReassignment("t", [row])]
    )
    cluster = Cluster({k46.ListPartitionReassignmentsRequest: lambda _request: response})

    reassignments = cluster.run(list_partition_reassignments([T1]))
    cluster.run(list_partition_reassignments())

    move = reassignments[T1]
    assert (move.replicas, move.adding_replicas, move.removing_replicas) == ((1, 2, 3), (3,), (1,))
    first, second = (request for _, request in cluster.requests)
    assert (first.topics[0].partition_indexes, second.topics) == ([1], None)
