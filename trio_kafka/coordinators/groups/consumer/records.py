"""Records of consumer groups. Source: GroupCoordinatorRecordHelpers."""

from collections.abc import Iterable, Mapping
from typing import Final

from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.member import Member, Owned
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.protocol.stored.groups import consumer as stored
from trio_kafka.protocol.structs.cluster import TopicPartitions

# Keys of the records of one member; tombstones come in this order, which replay needs.
_OF_MEMBER: Final = (
    stored.ConsumerGroupCurrentMemberAssignmentKey,
    stored.ConsumerGroupTargetAssignmentMemberKey,
    stored.ConsumerGroupMemberMetadataKey,
)


def group_epoch(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of the group's epoch, with the hash of the topics at that epoch."""
    return CoordinatorRecord(
        stored.ConsumerGroupMetadataKey(group_id),
        stored.ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash),
    )


def subscription(group_id: str, member: Member) -> CoordinatorRecord:
    """Return the record of a member's identity and subscription."""
    classic = member.classic
    return CoordinatorRecord(
        stored.ConsumerGroupMemberMetadataKey(group_id, member.member_id),
        stored.ConsumerGroupMemberMetadataValue(
            instance_id=member.instance_id,
            rack_id=member.rack_id,
            client_id=member.client_id,
            client_host=member.client_host,
            subscribed_topic_names=list(member.topics),
            subscribed_topic_regex=member.regex,
            rebalance_timeout_ms=member.rebalance_timeout_ms,
            server_assignor=member.assignor,
            classic_member_metadata=None
            if classic is None
            else stored.ClassicMemberMetadata(
                session_timeout_ms=classic.session_timeout_ms,
                supported_protocols=[
                    stored.ClassicProtocol(name=protocol.name, metadata=protocol.metadata)
                    for protocol in classic.protocols
                ],
            ),
        ),
    )


def target(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    """Return the record of a member's target assignment."""
    return CoordinatorRecord(
        stored.ConsumerGroupTargetAssignmentMemberKey(group_id, member_id),
        stored.ConsumerGroupTargetAssignmentMemberValue(
            [
                TopicPartitions(topic_id=topic, partitions=sorted(partitions[topic]))
                for topic in sorted(partitions)
            ]
        ),
    )


def target_epoch(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record of the target assignment's epoch and time; 0 permits a new one at once."""
    return CoordinatorRecord(
        stored.ConsumerGroupTargetAssignmentMetadataKey(group_id),
        stored.ConsumerGroupTargetAssignmentMetadataValue(
            assignment_epoch=epoch, assignment_timestamp=timestamp_ms
        ),
    )


def assignment(group_id: str, member: Member) -> CoordinatorRecord:
    """Return the record of a member's current assignment."""
    return CoordinatorRecord(
        stored.ConsumerGroupCurrentMemberAssignmentKey(group_id, member.member_id),
        stored.ConsumerGroupCurrentMemberAssignmentValue(
            member.epoch,
            member.previous_epoch,
            int(member.state),
            _stored(member.assigned),
            _stored(member.revoking),
        ),
    )


def _stored(owned: Owned) -> list[stored.CurrentTopicPartitions]:
    topics: list[stored.CurrentTopicPartitions] = []
    for topic in sorted(owned):
        epochs = dict(sorted(owned[topic].items()))
        topics.append(stored.CurrentTopicPartitions(topic, list(epochs), list(epochs.values())))
    return topics


def expression(
    group_id: str, regex: str, topics: Iterable[str], version: int, timestamp_ms: int
) -> CoordinatorRecord:
    """Return the record of the topics that match a regular expression."""
    return CoordinatorRecord(
        stored.ConsumerGroupRegularExpressionKey(group_id, regex),
        stored.ConsumerGroupRegularExpressionValue(
            topics=sorted(topics), version=version, timestamp=timestamp_ms
        ),
    )


def no_expression(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the record that deletes a regular expression."""
    return CoordinatorRecord(stored.ConsumerGroupRegularExpressionKey(group_id, regex))


def no_subscription_metadata(group_id: str) -> CoordinatorRecord:
    """Return the record that deletes the topic metadata of brokers before 4.1; the hash replaces
    them.
    """
    return CoordinatorRecord(stored.ConsumerGroupPartitionMetadataKey(group_id))


def no_member(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that delete a member."""
    return [CoordinatorRecord(key_class(group_id, member_id)) for key_class in _OF_MEMBER]


def no_group(
    group_id: str, member_ids: Iterable[str], regexes: Iterable[str]
) -> list[CoordinatorRecord]:
    """Return the records that delete a group and its members, in the order that replay needs."""
    ids = list(member_ids)
    assignments, targets, members = (
        [CoordinatorRecord(key_class(group_id, member_id)) for member_id in ids]
        for key_class in _OF_MEMBER
    )
    return [
        *assignments,
        *targets,
        CoordinatorRecord(stored.ConsumerGroupTargetAssignmentMetadataKey(group_id)),
        *members,
        *(no_expression(group_id, regex) for regex in regexes),
        no_subscription_metadata(group_id),
        CoordinatorRecord(stored.ConsumerGroupMetadataKey(group_id)),
    ]


def whole_group(
    group_id: str, members: Mapping[Member, Partitions], epoch: int, metadata_hash: int
) -> list[CoordinatorRecord]:
    """Return the records of a group made of a classic one: members with their targets, all of one
    epoch.
    """
    return [
        *(subscription(group_id, member) for member in members),
        group_epoch(group_id, epoch, metadata_hash),
        *(target(group_id, member.member_id, shall) for member, shall in members.items()),
        target_epoch(group_id, epoch, 0),
        *(assignment(group_id, member) for member in members),
    ]
