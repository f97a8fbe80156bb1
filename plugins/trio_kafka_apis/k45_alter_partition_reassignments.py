"""AlterPartitionReassignments (key 45): replace the replicas of partitions.

Never waits. A cluster has one broker, so the only replicas that can be asked for are those that a
partition has, and there is never a reassignment to cancel. Tools such as kafka-reassign-partitions
ask so before they move replicas between directories. Source: KIP-455.

Needs ALTER on the cluster.
"""

from functools import partial

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual
from trio_kafka.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopic,
    ReassignableTopicResponse,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.rows import rows
from trio_kafka.security.operations import Operation


@api(AlterPartitionReassignmentsRequest)
def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, context: Context
) -> Eventual[AlterPartitionReassignmentsResponse]:
    context.authorize(Operation.ALTER, cluster=True)

    def answer(topics: list[ReassignableTopicResponse]) -> AlterPartitionReassignmentsResponse:
        return AlterPartitionReassignmentsResponse(
            allow_replication_factor_change=request.allow_replication_factor_change,
            error_message=None,
            responses=topics,
        )

    return rows(
        request.topics,
        lambda topic: topic.partitions,
        partial(_alter, context),
        answer,
        group=lambda topic, partitions: ReassignableTopicResponse(topic.name, partitions),
        refused=lambda _, partition, error: ReassignablePartitionResponse(
            partition.partition_index, error.code, error.message
        ),
    )


def _alter(
    context: Context, topic: ReassignableTopic, partition: ReassignablePartition
) -> ReassignablePartitionResponse:
    _check(topic.name, partition.partition_index, partition.replicas, context=context)
    return ReassignablePartitionResponse(partition.partition_index, 0, None)


def _check(topic: str, number: int, replicas: list[int] | None, *, context: Context) -> None:
    """Raise KafkaError unless a partition has these replicas."""
    image = context.image
    registered = image.topics.get(topic)
    state = None if registered is None else registered.partitions.get(number)
    if state is None:
        reason = f"no partition {number} of topic {topic}"
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
    if replicas is None:
        reason = f"{topic}-{number} has no reassignment to cancel"
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, reason)
    if sorted(replicas) != sorted(state.replicas):
        has = ", ".join(map(str, state.replicas))
        reason = f"replicas {replicas}: want {has}, as a cluster has one broker"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, reason)
