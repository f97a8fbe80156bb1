"""Offsets that are deleted without a request: expired ones, and those of deleted topics.

A group without members expires with its last offset. Source: KIP-211.
"""

from collections.abc import Mapping
from typing import Final

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, TimerKey
from trio_kafka.coordinators.groups.offsets import Offsets
from trio_kafka.coordinators.groups.pending_offsets import OffsetKey
from trio_kafka.coordinators.groups.protocols import Group, GroupTable
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import Steps

NO_EXPIRY: Final = -1
EXPIRY: Final = "expire-group-metadata"
_A_STEP: Final = 50  # groups in one step
_logger: Final = get_logger(__name__)


def schedule_expiry(effects: Effects, settings: GroupSettings) -> None:
    """Set the timer of the next expiry unless it is set. Each event that makes a group calls this,
    as no expiry runs in a shard without groups.
    """
    effects.set_timer((EXPIRY,), settings.retention_check_interval_ms, keep=True)


class OffsetExpiry:
    """The submachine of the offsets."""

    group_type = classic_adapter = None
    timers = frozenset({EXPIRY})

    def __init__(self, groups: GroupTable, offsets: Offsets) -> None:
        self._groups = groups
        self._offsets = offsets
        self.replays = offsets.replays

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Schedule the first expiry if there is a group."""
        del now_ms
        yield from ()
        effects = Effects()
        if self._groups.by_id:
            schedule_expiry(effects, self._groups.settings)
        return effects

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Effects | Steps[Effects]:
        """Delete the offsets of deleted topics."""
        del now_ms
        deleted = delta.deleted_topics
        return self._forget_topics(deleted) if deleted else Effects()

    def timer(self, key: TimerKey, now_ms: int) -> Steps[Effects]:
        """Delete expired offsets and the groups that have nothing left; schedule the next expiry
        unless there are no groups.
        """
        del key
        groups, effects = self._groups, Effects(atomic=False)
        for number, group in enumerate(tuple(groups.by_id.values()), 1):
            if number % _A_STEP == 0:
                yield
            if groups.by_id.get(group.group_id) is group:
                self._expire_group(group, now_ms, effects)
        if effects.records:
            _logger.info("group metadata expired", tombstones=len(effects.records))
        if groups.by_id:
            schedule_expiry(effects, groups.settings)
        return effects

    def _expire_group(self, group: Group, now_ms: int, effects: Effects) -> None:
        offsets, group_id = self._offsets, group.group_id
        retention_ms = self._groups.settings.offsets_retention_ms
        left = offsets.pending.has_group(group_id) if offsets.pending.open else False
        for topic, partitions in offsets.of_group(group_id).items():
            if group.subscribed(topic):
                left = True
                continue
            for partition, value in partitions.items():
                is_over = _is_expired(group, value, now_ms, retention_ms)
                if is_over and not offsets.pending.is_open(group_id, topic, partition):
                    effects.records.append(
                        CoordinatorRecord(OffsetCommitKey(group_id, topic, partition))
                    )
                else:
                    left = True
        if not left and group.is_empty:
            effects.records += group.tombstones()

    def _forget_topics(self, deleted: Mapping[TopicId, str]) -> Steps[Effects]:
        """Delete the offsets of these topics, but not those of a later topic of the same name."""
        offsets = self._offsets
        gone: dict[OffsetKey, None] = {}
        for number, group_id in enumerate(tuple(offsets.by_group), 1):
            if number % _A_STEP == 0:
                yield
            topics = offsets.of_group(group_id)
            for topic_id, topic in deleted.items():
                for partition, value in topics.get(topic, {}).items():
                    if value.topic_id in (ZERO_TOPIC_ID, topic_id):
                        gone[group_id, topic, partition] = None
        names = {topic: topic_id for topic_id, topic in deleted.items()}
        for key, value in offsets.pending.values():
            if key[1] in names and value.topic_id in (ZERO_TOPIC_ID, names[key[1]]):
                gone[key] = None
        records = [CoordinatorRecord(OffsetCommitKey(*key)) for key in gone]
        return Effects(records=records, atomic=False)


def _is_expired(group: Group, value: OffsetCommitValue, now_ms: int, retention_ms: int) -> bool:
    since_ms = group.offsets_kept_since(value.commit_timestamp)
    if since_ms is None:
        return False
    if value.expire_timestamp != NO_EXPIRY:  # the client asked for a retention of its own
        return now_ms >= value.expire_timestamp
    return now_ms - since_ms >= retention_ms
