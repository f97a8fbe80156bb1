"""Subscriptions and assignments of classic groups as bytes. Does no I/O.

Bytes of other members are hostile. The sticky assignor, whose members own nothing while they join,
finds what they owned before in `user_data`.
Source: ConsumerProtocol and StickyAssignor of Apache Kafka 4.4.0.
"""

from collections.abc import Collection, Iterable, Sequence

from trio_kafka.clients.consumer.groups.assignors.values import MemberSubscription
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.compiler import decoder, to_bytes
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.schema import array, data, int32
from trio_kafka.protocol.stored.consumer_protocol import (
    AssignedPartitions,
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
    OwnedPartitions,
)
from trio_kafka.protocol.stored.consumer_protocol_version import (
    NEWEST,
    VERSION_SIZE,
    version_of,
    versioned,
)


@data(versions="0-1")
class StickyUserData:
    """Partitions that a member of a sticky group owned before."""

    previous: list[OwnedPartitions] = array(OwnedPartitions)
    generation: int = int32("1+", default=-1, ignorable=True)


def write_subscription(
    topics: Collection[str],
    *,
    owned: Collection[TopicPartition],
    before: Collection[TopicPartition],
    generation: int,
    rack: str | None,
) -> bytes:
    """Return a subscription. owned: kept while the member joins. before: owned until it joined."""
    user_data = None
    if before:
        user_data = to_bytes(StickyUserData(_owned_rows(before), generation), 1)
    subscription = ConsumerProtocolSubscription(
        topics=sorted(topics),
        user_data=user_data,
        owned_partitions=_owned_rows(owned),
        generation_id=generation,
        rack_id=rack,
    )
    return versioned(subscription, NEWEST)


def read_subscription(
    member_id: str, instance_id: str | None, content: bytes
) -> MemberSubscription:
    """Return what a member has said. Raises DecodeError."""
    decode = decoder(ConsumerProtocolSubscription, version_of(content))
    subscription, _ = decode(content, VERSION_SIZE)
    owned = _partitions((row.topic, row.partitions) for row in subscription.owned_partitions)
    generation = subscription.generation_id
    if not owned and subscription.user_data:
        owned, generation = _previous(subscription.user_data, generation)
    return MemberSubscription(
        member_id=member_id,
        instance_id=instance_id,
        topics=frozenset(subscription.topics),
        owned=tuple(owned),
        generation=generation,
        rack=subscription.rack_id or None,
    )


def write_assignment(partitions: Iterable[TopicPartition]) -> bytes:
    """Return the assignment of one member."""
    topics: dict[str, list[int]] = {}
    for at in partitions:
        topics.setdefault(at.topic, []).append(at.partition)
    rows = [AssignedPartitions(name, sorted(numbers)) for name, numbers in topics.items()]
    return versioned(ConsumerProtocolAssignment(assigned_partitions=rows), 1)


def read_assignment(content: bytes) -> frozenset[TopicPartition]:
    """Return the assignment of one member; no bytes are none. Raises DecodeError."""
    if not content:
        return frozenset()
    decode = decoder(ConsumerProtocolAssignment, version_of(content))
    assignment, _ = decode(content, VERSION_SIZE)
    return frozenset(
        _partitions((row.topic, row.partitions) for row in assignment.assigned_partitions)
    )


def _previous(user_data: bytes, generation: int) -> tuple[list[TopicPartition], int]:
    try:
        previous, _ = decoder(StickyUserData, 1)(user_data, 0)
    except DecodeError:
        return [], generation  # data of another assignor
    rows = _partitions((row.topic, row.partitions) for row in previous.previous)
    return rows, previous.generation


def _owned_rows(partitions: Collection[TopicPartition]) -> list[OwnedPartitions]:
    topics: dict[str, list[int]] = {}
    for at in sorted(partitions):
        topics.setdefault(at.topic, []).append(at.partition)
    return [OwnedPartitions(name, numbers) for name, numbers in topics.items()]


def _partitions(rows: Iterable[tuple[str, Sequence[int]]]) -> list[TopicPartition]:
    return [TopicPartition(topic, number) for topic, numbers in rows for number in numbers]
