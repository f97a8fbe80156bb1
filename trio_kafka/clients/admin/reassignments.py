"""Calls about reassignments of partitions to other brokers."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trio_kafka.attributes import frozen
from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    perform,
    perform_single,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import CONTROLLER
from trio_kafka.clients.admin.partitions import by_topic, partition_place
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k45_alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from trio_kafka.protocol.messages.k46_list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    ListPartitionReassignmentsTopics,
)


@frozen(kw_only=True)
class PartitionReassignment:
    """A reassignment in progress, as node ids. replicas: all, with those that come and go."""

    replicas: tuple[int, ...]
    adding_replicas: tuple[int, ...]
    removing_replicas: tuple[int, ...]


Reassignments = dict[TopicPartition, PartitionReassignment]


def alter_partition_reassignments(
    replicas: Mapping[TopicPartition, Sequence[int] | None],
    *,
    allow_replication_factor_change: bool = True,
) -> Plan[Results[TopicPartition, None]]:
    """Begin to move partitions to these brokers; None cancels a move."""

    def request(
        items: Sequence[TopicPartition], timeout_ms: int
    ) -> AlterPartitionReassignmentsRequest:
        topics = by_topic(items, lambda at: _partition(at, replicas[at]))
        rows = [ReassignableTopic(name, partitions) for name, partitions in topics.items()]
        return AlterPartitionReassignmentsRequest(timeout_ms, allow_replication_factor_change, rows)

    return perform(
        Call(
            targets=dict.fromkeys(replicas, CONTROLLER),
            request=request,
            read=_read_altered,
            place=partition_place,
        )
    )


def list_partition_reassignments(
    partitions: Iterable[TopicPartition] | None = None,
) -> Plan[Reassignments]:
    """Return the reassignments in progress by partition. partitions: None: all."""
    topics = None
    if partitions is not None:
        numbers = by_topic(partitions, lambda at: at.partition)
        topics = [ListPartitionReassignmentsTopics(name, rows) for name, rows in numbers.items()]
    call: Call[None, ListPartitionReassignmentsResponse, Reassignments] = Call(
        targets={None: CONTROLLER},
        request=lambda _items, timeout_ms: ListPartitionReassignmentsRequest(timeout_ms, topics),
        read=_read_reassignments,
    )
    return perform_single(call)


def _partition(at: TopicPartition, replicas: Sequence[int] | None) -> ReassignablePartition:
    return ReassignablePartition(at.partition, None if replicas is None else list(replicas))


def _read_altered(
    response: AlterPartitionReassignmentsResponse, items: Sequence[TopicPartition]
) -> Iterator[tuple[TopicPartition, Rejection | None]]:
    if response.error_code:
        for at in items:
            yield at, Rejection(response.error_code, response.error_message)
        return
    for topic in response.responses:
        for row in topic.partitions:
            at = TopicPartition(topic.name, row.partition_index)
            yield at, result_of(row.error_code, row.error_message, None)


def _read_reassignments(
    response: ListPartitionReassignmentsResponse, _items: Sequence[None]
) -> Iterator[tuple[None, Reassignments | Rejection]]:
    reassignments = {
        TopicPartition(topic.name, row.partition_index): PartitionReassignment(
            replicas=tuple(row.replicas),
            adding_replicas=tuple(row.adding_replicas),
            removing_replicas=tuple(row.removing_replicas),
        )
        for topic in response.topics
        for row in topic.partitions
    }
    yield None, result_of(response.error_code, response.error_message, reassignments)
