"""Consumer protocol embedded in the classic protocol: subscriptions and assignments as bytes."""

from trio_kafka.coordinators.groups.bounded_decode import decode
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.consumer_protocol import (
    AssignedPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)
from trio_kafka.protocol.stored.consumer_protocol_version import (
    VERSION_SIZE,
    version_of,
    versioned,
)


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Return the subscription. Raises DecodeError."""
    return decode(ConsumerProtocolSubscription, version_of(data), data, VERSION_SIZE)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment. Raises DecodeError."""
    return decode(ConsumerProtocolAssignment, version_of(data), data, VERSION_SIZE)


def write_assignment(partitions: Partitions, version: int, image: MetadataImage) -> bytes:
    """Return an assignment as bytes, without deleted topics."""
    topics = [
        AssignedPartitions(topic=name, partitions=sorted(partitions[topic_id]))
        for topic_id in sorted(partitions)
        if (name := image.topic_names.get(topic_id)) is not None
    ]
    return versioned(ConsumerProtocolAssignment(assigned_partitions=topics), version)


def owned_partitions(
    subscription: ConsumerProtocolSubscription, image: MetadataImage
) -> list[OwnedTopic]:
    """Return the partitions that a member says it owns, by topic id, without deleted topics."""
    partitions_by_topic = []
    for owned in subscription.owned_partitions:
        topic = image.topics.get(owned.topic)
        if topic is not None:
            partitions_by_topic.append(OwnedTopic(topic.id, owned.partitions))
    return partitions_by_topic


def assigned_partitions(
    assignment: ConsumerProtocolAssignment, image: MetadataImage
) -> dict[TopicId, frozenset[int]]:
    """Return the partitions of an assignment, by topic id, without deleted topics."""
    partitions_by_topic: dict[TopicId, frozenset[int]] = {}
    for assigned in assignment.assigned_partitions:
        topic = image.topics.get(assigned.topic)
        if topic is not None and assigned.partitions:
            partitions_by_topic[topic.id] = frozenset(assigned.partitions)
    return partitions_by_topic
