"""Replay of consumer-group records: the only place that changes the groups.

Records of an unknown group or member are ignored, as earlier ones may have been compacted away.
Source: GroupMetadataManager.replay of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, TypeAlias

from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer.group import DELETED_EPOCH, ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.subscriptions import Resolved
from trio_kafka.coordinators.groups.protocols import Replay
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.groups import consumer as stored

# Called with the group, the key and the value; None is a tombstone.
Apply: TypeAlias = Callable[[ConsumerGroup, Any, Any], None]
_logger: Final = get_logger(__name__)


def replays(state: ConsumerShardState) -> Mapping[type, Replay]:
    """Return the functions that replay records, by class of key."""
    replays_of_topics: dict[type, Replay] = {
        key_class: partial(_replay, state, apply) for key_class, apply in _APPLY.items()
    }
    return {**replays_of_topics, stored.ConsumerGroupMetadataKey: partial(_replay_epoch, state)}


def _replay(state: ConsumerShardState, apply: Apply, key: Any, value: Any) -> None:
    group = _group(state, key.group_id, value)
    if group is not None:
        apply(group, key, value)


def _group(state: ConsumerShardState, group_id: str, value: object) -> ConsumerGroup | None:
    """Return the group, made if the record is no tombstone. It replaces a group that only had
    offsets.
    """
    by_id = state.groups.by_id
    group = by_id.get(group_id)
    if isinstance(group, ConsumerGroup):
        return group
    if value is None:
        return None
    if group is not None and not (isinstance(group, ClassicGroup) and group.is_simple):
        _logger.warning(
            "record skipped: the group has another type", group=group_id, type=group.type
        )
        return None
    group = by_id[group_id] = state.new(group_id)
    return group


def _replay_epoch(
    state: ConsumerShardState,
    key: stored.ConsumerGroupMetadataKey,
    value: stored.ConsumerGroupMetadataValue | None,
) -> None:
    """Apply the record of the group itself; its tombstone deletes the group."""
    group = _group(state, key.group_id, value)
    if group is not None and value is None:
        state.searches.pop(key.group_id, None)
        del state.groups.by_id[key.group_id]
    elif group is not None and value is not None:
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _subscription_metadata(group: ConsumerGroup, _key: object, value: object) -> None:
    group.has_subscription_metadata = value is not None


def _member(
    group: ConsumerGroup,
    key: stored.ConsumerGroupMemberMetadataKey,
    value: stored.ConsumerGroupMemberMetadataValue | None,
) -> None:
    member_id = key.member_id
    if value is not None:
        member = group.by_id.get(member_id) or Member(member_id=member_id)
        group.put(member.with_subscription(value))
    elif member_id in group.by_id:
        group.drop(member_id)


def _target_epoch(
    group: ConsumerGroup,
    _key: object,
    value: stored.ConsumerGroupTargetAssignmentMetadataValue | None,
) -> None:
    if value is None:
        group.assignment_epoch, group.assigned_ms = DELETED_EPOCH, 0
    else:
        group.assignment_epoch = value.assignment_epoch
        group.assigned_ms = value.assignment_timestamp


def _target(
    group: ConsumerGroup,
    key: stored.ConsumerGroupTargetAssignmentMemberKey,
    value: stored.ConsumerGroupTargetAssignmentMemberValue | None,
) -> None:
    if value is not None:
        group.targets[key.member_id] = {
            TopicId(topic.topic_id): frozenset(topic.partitions)
            for topic in value.topic_partitions
            if topic.partitions
        }
    else:
        group.targets.pop(key.member_id, None)


def _assignment(
    group: ConsumerGroup,
    key: stored.ConsumerGroupCurrentMemberAssignmentKey,
    value: stored.ConsumerGroupCurrentMemberAssignmentValue | None,
) -> None:
    member = group.by_id.get(key.member_id)
    if value is not None:
        group.put((member or Member(member_id=key.member_id)).with_assignment(value))
    elif member is not None:
        group.put(member.left())


def _expression(
    group: ConsumerGroup,
    key: stored.ConsumerGroupRegularExpressionKey,
    value: stored.ConsumerGroupRegularExpressionValue | None,
) -> None:
    resolved = None
    if value is not None:
        resolved = Resolved(frozenset(value.topics), value.version, value.timestamp)
    group.subscriptions.resolve(key.regular_expression, resolved)


_APPLY: Final[Mapping[type, Apply]] = {
    stored.ConsumerGroupPartitionMetadataKey: _subscription_metadata,
    stored.ConsumerGroupMemberMetadataKey: _member,
    stored.ConsumerGroupTargetAssignmentMetadataKey: _target_epoch,
    stored.ConsumerGroupTargetAssignmentMemberKey: _target,
    stored.ConsumerGroupCurrentMemberAssignmentKey: _assignment,
    stored.ConsumerGroupRegularExpressionKey: _expression,
}
