"""Committed offsets by group, topic and partition, as their records say.

All types of groups have offsets. A group that is not known yet is made when its first offset is
replayed. Offsets of a transaction are pending until its marker. Values are kept as they were
decoded, as 100,000 of them are loaded at once. Expired offsets, and those of deleted topics, are
deleted without a request. A group without members expires with its last offset. Sans-IO. Source:
KIP-211.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from trio_kafka.coordinators.groups.pending_offsets import OffsetKey, PendingOffsets
from trio_kafka.coordinators.groups.protocols import Group, GroupTable, Replay
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import (
    CoordinatorRecord,
    Effects,
    EventResult,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.stored.groups.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)
from trio_kafka.scheduling.chunked_work import Steps

NO_EXPIRY: Final = -1
EXPIRY: Final = "expire-group-metadata"
_A_STEP: Final = 50  # groups in one step
_PENDING: Final = 1000  # pending offsets in one step
_logger: Final = get_logger(__name__)
OffsetsOfGroup: TypeAlias = dict[str, dict[int, OffsetCommitValue]]
NO_OFFSETS: Final[Mapping[str, Mapping[int, OffsetCommitValue]]] = {}


class Offsets:
    """The submachine of the offsets.

    by_group: committed offsets. pending: offsets of open transactions. count: of all committed
    offsets.
    """

    group_type = classic_adapter = None
    timers = frozenset({EXPIRY})

    def __init__(self, groups: GroupTable) -> None:
        self._groups = groups
        self.by_group: dict[str, OffsetsOfGroup] = {}
        self.pending = PendingOffsets(self.put)
        self.count = 0
        self.replays: Mapping[type, Replay] = {
            OffsetCommitKey: self.replay,
            LegacyOffsetCommitKey: self._replay_legacy,
        }

    # State

    def of_group(self, group_id: str) -> Mapping[str, Mapping[int, OffsetCommitValue]]:
        """Return the offsets of a group by topic and partition."""
        return self.by_group.get(group_id, NO_OFFSETS)

    def get(self, group_id: str, topic: str, partition: int) -> OffsetCommitValue | None:
        """Return the committed offset of one partition."""
        return self.of_group(group_id).get(topic, {}).get(partition)

    def put(self, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        """Store an offset, in place of an earlier one."""
        topics = self.by_group.get(key.group)
        if topics is None:
            topics = self.by_group[key.group] = {}
        partitions = topics.get(key.topic)
        if partitions is None:
            partitions = topics[key.topic] = {}
        if key.partition not in partitions:
            self.count += 1
        partitions[key.partition] = value

    def remove(self, group_id: str, topic: str, partition: int) -> None:
        """Remove an offset. Idempotent."""
        topics = self.by_group.get(group_id)
        partitions = None if topics is None else topics.get(topic)
        if topics is None or partitions is None or partitions.pop(partition, None) is None:
            return
        self.count -= 1
        if not partitions:
            del topics[topic]
            if not topics:
                del self.by_group[group_id]

    def tombstones(self, group_id: str) -> Iterator[CoordinatorRecord]:
        """Yield the records that delete all offsets of a group, pending ones included."""
        for topic, partitions in self.of_group(group_id).items():
            for partition in partitions:
                yield tombstone(group_id, topic, partition)
        for topic, partition in self.pending.of_group(group_id):
            if self.get(group_id, topic, partition) is None:
                yield tombstone(group_id, topic, partition)

    # Replay

    def replay(self, key: OffsetCommitKey, value: OffsetCommitValue | None) -> None:
        """Apply an offset that no transaction wrote, or a tombstone."""
        if value is None:
            self.remove(key.group, key.topic, key.partition)
            self.pending.forget(key)
            return
        group = key.group
        if group not in self._groups.by_id:
            self._groups.group_or_simple(group)
        try:  # nearly always replaces an older one
            partitions = self.by_group[group][key.topic]
            partitions[key.partition]
        except KeyError:
            self.put(key, value)
        else:
            partitions[key.partition] = value
        if self.pending.by_key:
            self.pending.overtake(key)

    def _replay_legacy(
        self, key: LegacyOffsetCommitKey, value: LegacyOffsetCommitValue | None
    ) -> None:
        """Apply a record of a broker before 0.9."""
        self.replay(
            OffsetCommitKey(key.group, key.topic, key.partition),
            None
            if value is None
            else OffsetCommitValue(
                value.offset, metadata=value.metadata, commit_timestamp=value.commit_timestamp
            ),
        )

    # Offsets that are deleted without a request

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Schedule the first expiry if there is a group."""
        del now_ms
        yield from ()
        effects = Effects()
        if self._groups.by_id:
            schedule_expiry(effects, self._groups.settings)
        return effects

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> EventResult:
        """Delete the offsets of deleted topics."""
        del now_ms
        deleted = delta.deleted_topics
        return self._forget_topics(deleted) if deleted else Effects()

    def waits(self, group_id: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """No request is kept."""
        del group_id, ticket, times
        return ()

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
        group_id = group.group_id
        retention_ms = self._groups.settings.offsets_retention_ms
        has_offsets = self.pending.has_group(group_id) if self.pending.open else False
        for topic, partitions in self.of_group(group_id).items():
            if group.subscribed(topic):
                has_offsets = True
                continue
            for partition, value in partitions.items():
                is_over = _is_expired(group, value, now_ms, retention_ms)
                if is_over and not self.pending.is_open(group_id, topic, partition):
                    effects.records.append(tombstone(group_id, topic, partition))
                else:
                    has_offsets = True
        if not has_offsets and group.is_empty:
            effects.records += group.tombstones()

    def _forget_topics(self, deleted: Mapping[TopicId, str]) -> Steps[Effects]:
        """Delete the offsets of these topics, but not those of a later topic of the same name."""
        deleted_offsets: dict[OffsetKey, None] = {}
        for number, group_id in enumerate(tuple(self.by_group), 1):
            if number % _A_STEP == 0:
                yield
            topics = self.of_group(group_id)
            for topic_id, topic in deleted.items():
                for partition, value in topics.get(topic, {}).items():
                    if value.topic_id in (ZERO_TOPIC_ID, topic_id):
                        deleted_offsets[group_id, topic, partition] = None
        names = {topic: topic_id for topic_id, topic in deleted.items()}
        for number, (key, value) in enumerate(self.pending.values(), 1):
            if number % _PENDING == 0:
                yield
            if key[1] in names and value.topic_id in (ZERO_TOPIC_ID, names[key[1]]):
                deleted_offsets[key] = None
        return Effects(records=[tombstone(*key) for key in deleted_offsets], atomic=False)


def tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """Return the record that deletes one offset."""
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition))


def schedule_expiry(effects: Effects, settings: GroupSettings) -> None:
    """Set the timer of the next expiry unless it is set. Each event that makes a group calls this,
    as no expiry runs in a shard without groups.
    """
    effects.set_timer((EXPIRY,), settings.retention_check_interval_ms, keep=True)


def _is_expired(group: Group, value: OffsetCommitValue, now_ms: int, retention_ms: int) -> bool:
    since_ms = group.offsets_kept_since(value.commit_timestamp)
    if since_ms is None:
        return False
    if value.expire_timestamp != NO_EXPIRY:  # the client asked for a retention of its own
        return now_ms >= value.expire_timestamp
    return now_ms - since_ms >= retention_ms
