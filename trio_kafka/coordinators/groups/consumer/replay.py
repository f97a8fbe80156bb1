"""Replay of consumer-group records: the only place that changes the groups.

Records of an unknown group or member are ignored, as earlier ones may have been compacted away.
Source: GroupMetadataManager.replay of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer.group import DELETED_EPOCH, ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member
from trio_kafka.coordinators.groups.consumer.subscriptions import Resolved
from trio_kafka.coordinators.groups.protocols import Group, Replay
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.groups.consumer import (
    ConsumerGroupCurrentMemberAssignmentKey,
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
    ConsumerGroupPartitionMetadataKey,
    ConsumerGroupPartitionMetadataValue,
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
    ConsumerGroupTargetAssignmentMemberKey,
    ConsumerGroupTargetAssignmentMemberValue,
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)

_logger: Final = get_logger(__name__)


@define(eq=False)
class Replayer:
    """groups: by id, of all types. make: create a consumer group. forget: called with a deleted
    group.
    """

    groups: dict[str, Group]
    make: Callable[[str], ConsumerGroup]
    forget: Callable[[ConsumerGroup], None]

    @property
    def replays(self) -> Mapping[type[Any], Replay]:
        """Functions by class of key."""
        return {
            ConsumerGroupMetadataKey: self._epoch,
            ConsumerGroupPartitionMetadataKey: self._subscription_metadata,
            ConsumerGroupMemberMetadataKey: self._member,
            ConsumerGroupTargetAssignmentMetadataKey: self._target_epoch,
            ConsumerGroupTargetAssignmentMemberKey: self._target,
            ConsumerGroupCurrentMemberAssignmentKey: self._assignment,
            ConsumerGroupRegularExpressionKey: self._expression,
        }

    def _group(self, group_id: str, value: object) -> ConsumerGroup | None:
        """Return the group, made if the record is no tombstone. It replaces a group that only had
        offsets.
        """
        found = self.groups.get(group_id)
        if isinstance(found, ConsumerGroup):
            return found
        if value is None:
            return None
        if found is not None and not (isinstance(found, ClassicGroup) and found.is_simple):
            _logger.warning(
                "record skipped: the group has another type", group=group_id, type=found.type
            )
            return None
        group = self.groups[group_id] = self.make(group_id)
        return group

    def _epoch(
        self, key: ConsumerGroupMetadataKey, value: ConsumerGroupMetadataValue | None
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        if value is None:
            self.forget(group)
            del self.groups[key.group_id]
        else:
            group.epoch, group.metadata_hash = value.epoch, value.metadata_hash

    def _subscription_metadata(
        self,
        key: ConsumerGroupPartitionMetadataKey,
        value: ConsumerGroupPartitionMetadataValue | None,
    ) -> None:
        group = self._group(key.group_id, value)
        if group is not None:
            group.has_subscription_metadata = value is not None

    def _member(
        self, key: ConsumerGroupMemberMetadataKey, value: ConsumerGroupMemberMetadataValue | None
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        member_id = key.member_id
        if value is not None:
            member = group.by_id.get(member_id) or Member(member_id=member_id)
            group.put(member.described(value))
        elif member_id in group.by_id:
            group.drop(member_id)

    def _target_epoch(
        self,
        key: ConsumerGroupTargetAssignmentMetadataKey,
        value: ConsumerGroupTargetAssignmentMetadataValue | None,
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        if value is None:
            group.assignment_epoch, group.assigned_ms = DELETED_EPOCH, 0
        else:
            group.assignment_epoch = value.assignment_epoch
            group.assigned_ms = value.assignment_timestamp

    def _target(
        self,
        key: ConsumerGroupTargetAssignmentMemberKey,
        value: ConsumerGroupTargetAssignmentMemberValue | None,
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        if value is not None:
            topics = {
                TopicId(topic.topic_id): frozenset(topic.partitions)
                for topic in value.topic_partitions
                if topic.partitions
            }
            group.set_target(key.member_id, topics)
        elif key.member_id in group.targets:
            group.drop_target(key.member_id)

    def _assignment(
        self,
        key: ConsumerGroupCurrentMemberAssignmentKey,
        value: ConsumerGroupCurrentMemberAssignmentValue | None,
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        if value is not None:
            member = group.by_id.get(key.member_id) or Member(member_id=key.member_id)
            group.put(member.placed(value))
        elif key.member_id in group.by_id:
            group.put(group.by_id[key.member_id].left())

    def _expression(
        self,
        key: ConsumerGroupRegularExpressionKey,
        value: ConsumerGroupRegularExpressionValue | None,
    ) -> None:
        group = self._group(key.group_id, value)
        if group is None:
            return
        found = None
        if value is not None:
            found = Resolved(frozenset(value.topics), value.version, value.timestamp)
        group.subscriptions.resolve(key.regular_expression, found)
