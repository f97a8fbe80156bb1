"""Calls that create and delete topics, and give them more partitions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from trio_kafka.clients.admin.calls.call import (
    Call,
    Plan,
    Rejection,
    as_older,
    perform,
    result_of,
)
from trio_kafka.clients.admin.calls.results import Results
from trio_kafka.clients.admin.calls.targets import CONTROLLER
from trio_kafka.clients.admin.topic_values import CreatedTopic, NewPartitions, NewTopic, TopicKey
from trio_kafka.clients.errors import Place
from trio_kafka.protocol.messages.k19_create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from trio_kafka.protocol.messages.k20_delete_topics import (
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    DeleteTopicState,
)
from trio_kafka.protocol.messages.k37_create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from trio_kafka.protocol.texts import show_uuid


def create_topics(
    topics: Iterable[NewTopic], *, validate_only: bool = False
) -> Plan[Results[str, CreatedTopic]]:
    """Create topics, or with `validate_only` only check whether they could be created.

    Returns the topics as created, by name.
    """
    by_name = {topic.name: topic for topic in topics}

    def request(names: Sequence[str], timeout_ms: int) -> CreateTopicsRequest:
        rows = [_creatable(by_name[name]) for name in names]
        return CreateTopicsRequest(rows, timeout_ms, validate_only)

    return perform(
        Call(
            targets=dict.fromkeys(by_name, CONTROLLER),
            request=request,
            read=_read_created,
            place=place_of,
        )
    )


def delete_topics(topics: Iterable[TopicKey]) -> Plan[Results[TopicKey, None]]:
    """Delete topics by name, or by id (bytes). Returns None for each that is deleted."""
    keys = dict.fromkeys(topics, CONTROLLER)
    by_name: Call[TopicKey, DeleteTopicsResponse, None] = Call(
        targets=keys,
        request=lambda items, timeout_ms: DeleteTopicsRequest(
            topic_names=[item for item in items if isinstance(item, str)], timeout_ms=timeout_ms
        ),
        read=_read_deleted,
        place=place_of,
    )
    has_ids = any(isinstance(key, bytes) for key in keys)
    return perform(
        Call(
            targets=keys,
            request=_delete_request,
            read=_read_deleted,
            place=place_of,
            older=None if has_ids else as_older(by_name),
        )
    )


def create_partitions(
    new_partitions: Mapping[str, NewPartitions], *, validate_only: bool = False
) -> Plan[Results[str, None]]:
    """Give topics more partitions, by the topic's name."""

    def request(names: Sequence[str], timeout_ms: int) -> CreatePartitionsRequest:
        rows = [_more_partitions(name, new_partitions[name]) for name in names]
        return CreatePartitionsRequest(rows, timeout_ms, validate_only)

    return perform(
        Call(
            targets=dict.fromkeys(new_partitions, CONTROLLER),
            request=request,
            read=_read_partitions,
            place=place_of,
        )
    )


def place_of(topic: TopicKey) -> Place:
    """Return the place of a topic in errors; an id is shown as in Kafka's tools."""
    return Place(topic=topic if isinstance(topic, str) else show_uuid(topic))


def _creatable(topic: NewTopic) -> CreatableTopic:
    assignments = topic.replicas_assignments or {}
    counts = (topic.num_partitions, topic.replication_factor)
    if assignments and counts != (None, None):
        raise ValueError(f"topic {topic.name}: give assignments or numbers, not both")
    partitions, replicas = (-1 if count is None else count for count in counts)
    return CreatableTopic(
        topic.name,
        partitions,
        replicas,
        [CreatableReplicaAssignment(n, list(nodes)) for n, nodes in sorted(assignments.items())],
        [CreatableTopicConfig(name, value) for name, value in topic.configs.items()],
    )


def _read_created(
    response: CreateTopicsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, CreatedTopic | Rejection]]:
    for row in response.topics:
        yield row.name, result_of(row.error_code, row.error_message, _created(row))


def _created(row: CreatableTopicResult) -> CreatedTopic:
    return CreatedTopic(
        name=row.name,
        topic_id=row.topic_id,
        num_partitions=row.num_partitions,
        replication_factor=row.replication_factor,
        configs={config.name: config.value for config in row.configs or ()},
    )


def _delete_request(items: Sequence[TopicKey], timeout_ms: int) -> DeleteTopicsRequest:
    states = [
        DeleteTopicState(name=item) if isinstance(item, str) else DeleteTopicState(None, item)
        for item in items
    ]
    return DeleteTopicsRequest(topics=states, timeout_ms=timeout_ms)


def _read_deleted(
    response: DeleteTopicsResponse, items: Sequence[TopicKey]
) -> Iterator[tuple[TopicKey, Rejection | None]]:
    for row in response.responses:
        key: TopicKey = row.topic_id if row.topic_id in items else row.name or ""
        yield key, result_of(row.error_code, row.error_message, None)


def _more_partitions(name: str, new: NewPartitions) -> CreatePartitionsTopic:
    assignments = None
    if new.new_assignments is not None:
        assignments = [CreatePartitionsAssignment(list(nodes)) for nodes in new.new_assignments]
    return CreatePartitionsTopic(name, new.total_count, assignments)


def _read_partitions(
    response: CreatePartitionsResponse, _items: Sequence[str]
) -> Iterator[tuple[str, Rejection | None]]:
    for row in response.results:
        yield row.name, result_of(row.error_code, row.error_message, None)
