"""Committed offsets by group, topic and partition, as their records say.

All types of groups have offsets. A group that is not known yet is made when its first offset is
replayed. Offsets of a transaction are pending until its marker. Values are kept as they were
decoded, as 100,000 of them are loaded at once. Sans-IO.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypeAlias

from trio_kafka.coordinators.effects import CoordinatorRecord
from trio_kafka.coordinators.groups.pending_offsets import PendingOffsets
from trio_kafka.coordinators.groups.protocols import GroupTable, Replay
from trio_kafka.protocol.stored.groups.classic import (
    LegacyOffsetCommitKey,
    LegacyOffsetCommitValue,
    OffsetCommitKey,
    OffsetCommitValue,
)

OffsetsOfGroup: TypeAlias = dict[str, dict[int, OffsetCommitValue]]
NO_OFFSETS: Final[Mapping[str, Mapping[int, OffsetCommitValue]]] = {}


class Offsets:
    """by_group: committed offsets. pending: offsets of open transactions. count: of all committed
    offsets.
    """

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
            self._groups.known(group)
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


def tombstone(group_id: str, topic: str, partition: int) -> CoordinatorRecord:
    """Return the record that deletes one offset."""
    return CoordinatorRecord(OffsetCommitKey(group_id, topic, partition))
