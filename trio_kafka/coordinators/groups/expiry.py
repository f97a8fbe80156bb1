"""Offsets that go by themselves: those that nobody needs any more, and those of deleted topics.

A group expires with its last offset, when it has no members. Pure; in steps, as there may be many.
Source: KIP-211.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects
from trio_kafka.coordinators.groups.pending_offsets import OffsetKey
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.introspect.log import get_logger
from trio_kafka.model import ZERO_TOPIC_ID, TopicId
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import Steps

if TYPE_CHECKING:
    from trio_kafka.coordinators.groups.groups import Groups
    from trio_kafka.coordinators.groups.offsets import Offsets

NO_EXPIRY: Final = -1
_A_STEP: Final = 50  # groups that are looked at without letting others run
_logger: Final = get_logger(__name__)


def expire(groups: "Groups", now_ms: int) -> Steps[Effects]:
    """Tombstones of offsets whose retention is over, and of groups that have nothing left; and the
    timer for the next time, unless there is no group at all.
    """
    effects = Effects(atomic=False)
    for number, group in enumerate(tuple(groups.by_id.values()), 1):
        if number % _A_STEP == 0:
            yield
        if groups.by_id.get(group.group_id) is group:
            _expire_group(groups, group, now_ms, effects)
    if effects.records:
        _logger.info("expired group metadata", tombstones=len(effects.records))
    if groups.by_id:
        groups.offsets.look_for_expired(effects)
    return effects


def _expire_group(groups: "Groups", group: Group, now_ms: int, effects: Effects) -> None:
    offsets, group_id = groups.offsets, group.group_id
    left = offsets.pending.has_group(group_id) if offsets.pending.open else False
    for topic, partitions in offsets.of_group(group_id).items():
        if group.subscribed(topic):
            left = True
            continue
        for partition, value in partitions.items():
            is_over = _is_expired(group, value, now_ms, groups.settings.offsets_retention_ms)
            if is_over and not offsets.pending.is_open(group_id, topic, partition):
                effects.records.append(
                    CoordinatorRecord(OffsetCommitKey(group_id, topic, partition))
                )
            else:
                left = True
    if not left and group.is_empty:
        effects.records += group.tombstones()


def _is_expired(group: Group, value: OffsetCommitValue, now_ms: int, retention_ms: int) -> bool:
    since_ms = group.offsets_kept_since(value.commit_timestamp)
    if since_ms is None:
        return False
    if value.expire_timestamp != NO_EXPIRY:  # a client that asked for a retention of its own
        return now_ms >= value.expire_timestamp
    return now_ms - since_ms >= retention_ms


def forget_topics(offsets: "Offsets", deleted: Mapping[TopicId, str]) -> Steps[Effects]:
    """Tombstones of offsets in topics that are no more. An offset of another topic of that name,
    one that came later, stays.
    """
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
    for place, value in offsets.pending.places():
        if place[1] in names and value.topic_id in (ZERO_TOPIC_ID, names[place[1]]):
            gone[place] = None
    records = [CoordinatorRecord(OffsetCommitKey(*place)) for place in gone]
    return Effects(records=records, atomic=False)
