"""Consumer protocol embedded in the classic protocol: subscriptions and assignments as bytes.

Each begins with its version, an int16. A newer version is read like the newest known one. Source:
ConsumerProtocol of Apache Kafka 4.4.0.
"""

from struct import Struct
from typing import Final

from trio_kafka.coordinators.groups.bounded_decode import decode
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId
from trio_kafka.protocol.compiler import to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.stored.consumer_protocol import (
    AssignedPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

_INT16: Final = Struct(">h")
_NEWEST: Final = 3


def read_subscription(data: bytes) -> ConsumerProtocolSubscription:
    """Return the subscription. Raises DecodeError."""
    return decode(ConsumerProtocolSubscription, version_of(data), data, _INT16.size)


def read_assignment(data: bytes) -> ConsumerProtocolAssignment:
    """Return the assignment. Raises DecodeError."""
    return decode(ConsumerProtocolAssignment, version_of(data), data, _INT16.size)


def version_of(data: bytes) -> int:
    """Return the version, at most the newest known one. Raises DecodeError."""
    if len(data) < _INT16.size:
        raise DecodeError(
            f"consumer protocol message of {len(data)} bytes: expected at least 2 for the version"
        )
    version: int = _INT16.unpack_from(data)[0]
    if version < 0:
        raise DecodeError(f"consumer protocol version {version}: expected 0 or more")
    return min(version, _NEWEST)


def write_assignment(partitions: Partitions, version: int, image: MetadataImage) -> bytes:
    """Return an assignment as bytes, without deleted topics."""
    topics = [
        AssignedPartitions(topic=name, partitions=sorted(partitions[topic_id]))
        for topic_id in sorted(partitions)
        if (name := image.topic_names.get(topic_id)) is not None
    ]
    body = to_bytes(ConsumerProtocolAssignment(assigned_partitions=topics), version)
    return _INT16.pack(version) + body


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
