"""Checks of requests to consumer groups, with Kafka's errors, texts and order.

Source: GroupCoordinatorService, GroupMetadataManager, ConsumerGroup of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Collection, Sequence
from typing import Final

from trio_kafka.coordinators.groups.bounded_decode import MOST_ITEMS
from trio_kafka.coordinators.groups.consumer.member import Member, Owned
from trio_kafka.coordinators.groups.consumer.values import (
    JOIN_EPOCH,
    LEAVE_EPOCH,
    LEAVE_STATIC_EPOCH,
    SAME,
    Heartbeat,
    OwnedTopic,
)
from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID, TopicId

COMMIT_BY_EPOCH_SINCE: Final = 9  # of OffsetCommit
TopicIdOf = Callable[[str], TopicId | None]


def check_heartbeat(request: Heartbeat, assignors: Collection[str]) -> None:
    """Raise KafkaError for a malformed request: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.

    The bound of topics is that of a subscription in the classic protocol; Kafka has none.
    """
    if not request.member_id.strip() and (
        request.version >= 1 or request.epoch > 0 or request.epoch == LEAVE_EPOCH
    ):
        raise _empty("MemberId")
    if not request.group_id.strip():
        raise _empty("GroupId")
    if request.instance_id is not None and not request.instance_id.strip():
        raise _empty("InstanceId")
    if request.rack_id is not None and not request.rack_id.strip():
        raise _empty("RackId")
    if request.epoch == JOIN_EPOCH:
        _check_join(request)
    elif request.epoch == LEAVE_STATIC_EPOCH:
        if request.instance_id is None:
            raise _invalid("InstanceId can't be null.")
    elif request.epoch < LEAVE_STATIC_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    if request.topics is not None and len(request.topics) > MOST_ITEMS:
        count = len(request.topics)
        raise _invalid(f"SubscribedTopicNames has {count} topics: expected at most {MOST_ITEMS}.")
    if request.assignor is not None and request.assignor not in assignors:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_ASSIGNOR,
            f"ServerAssignor {request.assignor} is not supported. "
            f"Supported assignors: {', '.join(assignors)}.",
        )


def _check_join(request: Heartbeat) -> None:
    if request.rebalance_timeout_ms == SAME:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.owned is None or request.owned:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if request.topics is None and request.regex is None:
        raise _invalid(
            "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when "
            "(re-)joining."
        )


def _empty(name: str) -> KafkaError:
    return _invalid(f"{name} can't be empty.")


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)


# Heartbeats of members


def check_heartbeat_epoch(member: Member, epoch: int, owned: Sequence[OwnedTopic] | None) -> None:
    """Raise KafkaError(FENCED_MEMBER_EPOCH) for a wrong epoch. The previous epoch is valid for a
    member that owns no more than its assignment: the answer with the new one may have been lost.
    """
    if epoch in (JOIN_EPOCH, member.epoch):
        return
    if epoch < member.epoch and epoch == member.previous_epoch and _within(owned, member.assigned):
        return
    than = "greater" if epoch > member.epoch else "smaller"
    raise KafkaError(
        ErrorCode.FENCED_MEMBER_EPOCH,
        f"The consumer group member has a {than} member epoch ({epoch}) than the one known by the "
        f"group coordinator ({member.epoch}). The member must abandon all its partitions and "
        "rejoin.",
    )


def _within(owned: Sequence[OwnedTopic] | None, assigned: Owned) -> bool:
    if owned is None:
        return False
    return all(
        TopicId(topic) in assigned and all(number in assigned[TopicId(topic)] for number in numbers)
        for topic, numbers in owned
    )


def checked_static(member: Member | None, member_id: str, instance_id: str) -> Member:
    """Return the member with an instance id. Raises KafkaError: UNKNOWN_MEMBER_ID;
    FENCED_INSTANCE_ID if it has another member id.
    """
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID, f"Instance id {instance_id} is unknown.")
    if member.member_id != member_id:
        raise KafkaError(
            ErrorCode.FENCED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} was fenced by member "
            f"{member.member_id}.",
        )
    return member


def check_released(member: Member, member_id: str, instance_id: str) -> None:
    """Raise KafkaError(UNRELEASED_INSTANCE_ID) unless the member has left temporarily."""
    if member.epoch != LEAVE_STATIC_EPOCH:
        raise KafkaError(
            ErrorCode.UNRELEASED_INSTANCE_ID,
            f"Static member {member_id} with instance id {instance_id} cannot join the group "
            f"because the instance id is owned by {member.member_id} member.",
        )


# Offsets


def check_commit(
    member: Member,
    epoch: int,
    version: int,
    topics: Sequence[TopicOffsets],
    topic_id_of: TopicIdOf,
) -> None:
    """Check version and epoch of a commit.

    Raises KafkaError: UNSUPPORTED_VERSION; as `check_commit_epoch`.
    """
    if member.classic is None and version < COMMIT_BY_EPOCH_SINCE:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            "OffsetCommit version 9 or above must be used by members using the consumer group "
            "protocol",
        )
    check_commit_epoch(member, epoch, topics, topic_id_of)


def check_commit_epoch(
    member: Member, epoch: int, topics: Sequence[TopicOffsets], topic_id_of: TopicIdOf
) -> None:
    """Check the epoch of a commit. An old epoch is valid for partitions assigned since then
    (KIP-1251).

    Raises KafkaError: STALE_MEMBER_EPOCH, for classic members ILLEGAL_GENERATION.
    """
    if epoch == member.epoch:
        return
    epoch_name = "member epoch" if member.classic is None else "generation id"
    if epoch > member.epoch:
        raise _stale(
            member,
            f"Received {epoch_name} {epoch} is newer than current member epoch {member.epoch}.",
        )
    for topic, topic_id, partitions in topics:
        current_id = topic_id_of(topic) if topic_id == ZERO_TOPIC_ID else TopicId(topic_id)
        for partition in partitions:
            since = None if current_id is None else _since(member, current_id, partition.partition)
            if since is None:
                raise _stale(
                    member,
                    f"Partition {topic}-{partition.partition} is not assigned or pending "
                    "revocation for member.",
                )
            if epoch < since:
                raise _stale(
                    member,
                    f"Received {epoch_name} {epoch} is older than assignment epoch {since} for "
                    f"partition {topic}-{partition.partition}.",
                )


def _since(member: Member, topic: TopicId, partition: int) -> int | None:
    epoch = member.assigned.get(topic, {}).get(partition)
    return member.revoking.get(topic, {}).get(partition) if epoch is None else epoch


def check_epoch(member: Member, epoch: int) -> None:
    """Raise KafkaError for a wrong epoch: STALE_MEMBER_EPOCH, for classic members
    ILLEGAL_GENERATION.
    """
    if epoch != member.epoch:
        epoch_name = "member epoch" if member.classic is None else "generation id"
        raise _stale(
            member,
            f"The received {epoch_name} {epoch} does not match the expected member epoch "
            f"{member.epoch}.",
        )


def _stale(member: Member, message: str) -> KafkaError:
    is_classic = member.classic is not None
    code = ErrorCode.ILLEGAL_GENERATION if is_classic else ErrorCode.STALE_MEMBER_EPOCH
    return KafkaError(code, message)
