"""AlterPartitionReassignments (key 45): replace the replicas of partitions.

Never waits. A cluster has one broker, so the only replicas that can be asked for are those that a
partition has, and there is never a reassignment to cancel. Tools such as kafka-reassign-partitions
ask so before they move replicas between directories. Source: KIP-455.

Needs ALTER on the cluster.
"""

from trio_kafka.plugin import (
    Context,
    ErrorCode,
    KafkaError,
    Operation,
    Steps,
    api,
)
from trio_kafka.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)


@api(AlterPartitionReassignmentsRequest)
def alter_partition_reassignments(
    request: AlterPartitionReassignmentsRequest, context: Context
) -> Steps[AlterPartitionReassignmentsResponse]:
    context.authorize(Operation.ALTER, cluster=True)
    response = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=request.allow_replication_factor_change,
        error_message=None,
    )
    for topic in request.topics:
        row = ReassignableTopicResponse(topic.name)
        response.responses.append(row)
        for asked in topic.partitions:
            row.partitions.append(_answer(topic.name, asked, context))
            yield
        yield
    return response


def _answer(
    topic: str, asked: ReassignablePartition, context: Context
) -> ReassignablePartitionResponse:
    number = asked.partition_index
    try:
        _check(topic, number, asked.replicas, context)
    except KafkaError as error:
        return ReassignablePartitionResponse(number, error.code, error.message)
    return ReassignablePartitionResponse(number, 0, None)


def _check(topic: str, number: int, wanted: list[int] | None, context: Context) -> None:
    """Raise KafkaError unless a partition has these replicas."""
    image = context.metadata.image
    known = image.topics.get(topic)
    state = None if known is None else known.partitions.get(number)
    if state is None:
        found = f"no partition {number} of topic {topic}"
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, found)
    if wanted is None:
        found = f"{topic}-{number} has no reassignment to cancel"
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, found)
    if sorted(wanted) != sorted(state.replicas):
        has = ", ".join(map(str, state.replicas))
        found = f"replicas {wanted}: want {has}, as a cluster has one broker"
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, found)
