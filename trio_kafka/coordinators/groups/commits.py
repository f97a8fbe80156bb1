"""Events of committed offsets: commit, fetch and delete.

Each is one pass over the request. Errors of single partitions are part of the answer; those of the
group are raised. Source: KIP-211, KIP-447, KIP-516 (topic ids), KIP-848.
"""

from collections.abc import Iterable, Mapping, Sequence
from operator import attrgetter
from typing import Final

from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.offset_values import (
    DEFAULT_RETENTION,
    GROUP_ID_SINCE,
    Commit,
    FetchedOffset,
    FetchedTopic,
    FetchOffsets,
    TopicOffsets,
    TopicPartitions,
)
from trio_kafka.coordinators.groups.offsets import NO_EXPIRY, schedule_expiry, tombstone
from trio_kafka.coordinators.groups.protocols import Group
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, EventResult, Ticket
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import ZERO_TOPIC_ID
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import Steps, whole

_WRITTEN, _WITH_EXPIRY = 4, 1  # versions of a value; the second is the last one with an expiry
_A_STEP: Final = 200  # partitions in one step: 0.8 ms
_partitions: Final = attrgetter("partitions")
_LAST_MS: Final = (1 << 63) - 1  # the largest that can be stored; Kafka overflows to before 1970


# Commit


def commit(request: Commit, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    """Commit offsets; answer with an error code for each partition, in the order of the request.

    Raises KafkaError: an error of `Group.validate_commit`; for a member of an unknown group
    GROUP_ID_NOT_FOUND, for old clients ILLEGAL_GENERATION.
    """
    group = groups.by_id.get(request.group_id)
    is_new = group is None
    if group is None:
        group = _group_of_commit(groups, request)
    topics = request.topics
    effects = group.validate_commit(
        request.member_id, request.instance_id, request.epoch, request.version, topics
    )
    if is_new:
        schedule_expiry(effects, groups.settings)
    codes: list[int] = []
    steps = add_records(groups, request, effects, now_ms=now_ms, codes=codes)
    effects.answer(ticket, codes)
    if are_many(topics):
        return _completed(steps, effects)
    for _ in steps:
        pass
    return effects


def _completed(steps: Steps[None], effects: Effects) -> Steps[Effects]:
    """Take the steps that complete the effects of an event."""
    yield from steps
    return effects


def add_records(
    groups: Groups, request: Commit, effects: Effects, *, now_ms: int, codes: list[int]
) -> Steps[None]:
    """Add the records of a commit to `effects`, and an error code for each partition to `codes`."""
    group_id, limit = request.group_id, groups.settings.offset_metadata_max_bytes
    expires_ms, version = NO_EXPIRY, _WRITTEN
    if request.retention_ms != DEFAULT_RETENTION:
        expires_ms, version = min(now_ms + request.retention_ms, _LAST_MS), _WITH_EXPIRY
    for topic, topic_id, partitions in request.topics:
        for partition, offset, leader_epoch, metadata in partitions:
            if metadata and not _fits(metadata, limit):
                codes.append(ErrorCode.OFFSET_METADATA_TOO_LARGE)
            else:
                codes.append(0)
                key = OffsetCommitKey(group_id, topic, partition)
                value = OffsetCommitValue(
                    offset, leader_epoch, metadata or "", now_ms, expires_ms, topic_id
                )
                effects.records.append(CoordinatorRecord(key, value, version))
            if not len(codes) % _A_STEP:
                yield


def are_many(topics: Sequence[TopicPartitions] | Sequence[TopicOffsets]) -> bool:
    """Return whether topics and partitions take more than one step."""
    return len(topics) + sum(map(len, map(_partitions, topics))) > _A_STEP


def _group_of_commit(groups: Groups, request: Commit) -> Group:
    """Return the group of a commit to an unknown group id."""
    if request.epoch < 0:  # an administrator, or a consumer without a group
        return groups.group_or_simple(request.group_id)
    if request.version >= GROUP_ID_SINCE:
        return groups.group(request.group_id)
    raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _fits(metadata: str, limit: int) -> bool:
    """Return whether the metadata fit, counted as in Java: a character beyond U+FFFF
    counts twice.
    """
    size = len(metadata)
    return size <= limit and (
        size * 2 <= limit or size + sum(character > "\uffff" for character in metadata) <= limit
    )


# Fetch


def fetch(request: FetchOffsets, groups: Groups, ticket: Ticket, now_ms: int) -> EventResult:
    """Fetch offsets; answer with a list of FetchedTopic. An unknown group has no offsets.

    Raises KafkaError: an error of `Group.validate_fetch`.
    """
    del now_ms
    group = groups.by_id.get(request.group_id)
    if group is not None:
        try:
            group.validate_fetch(request.member_id, request.epoch)
        except KafkaError as error:
            if error.code is not ErrorCode.GROUP_ID_NOT_FOUND:
                raise
            group = None
    stored = {} if group is None else groups.offsets.of_group(request.group_id)
    topics = request.topics
    if topics is None:
        topics = [TopicPartitions(topic, ZERO_TOPIC_ID, tuple(of)) for topic, of in stored.items()]
    steps = _fetch(groups, request, topics, stored, ticket)
    return steps if are_many(topics) else whole(steps)


def _fetch(
    groups: Groups,
    request: FetchOffsets,
    topics: Sequence[TopicPartitions],
    stored: Mapping[str, Mapping[int, OffsetCommitValue]],
    ticket: Ticket,
) -> Steps[Effects]:
    unstable = request.require_stable and groups.offsets.pending.open > 0
    answer = []
    count = 0
    for topic, topic_id, partitions in topics:
        values = stored.get(topic, {})
        fetched: list[FetchedOffset] = []
        count += 1
        if not count % _A_STEP:
            yield
        for partition in partitions:
            count += 1
            if not count % _A_STEP:
                yield
            if unstable and groups.offsets.pending.is_open(request.group_id, topic, partition):
                code = ErrorCode.UNSTABLE_OFFSET_COMMIT
                fetched.append(FetchedOffset(partition, error=code))
                continue
            fetched.append(_fetched(partition, topic_id, values.get(partition)))
        answer.append(FetchedTopic(topic, topic_id, fetched))
    return Effects().answer(ticket, answer)


def _fetched(partition: int, topic_id: bytes, value: OffsetCommitValue | None) -> FetchedOffset:
    """Return the answer for a partition. An offset of an earlier topic of this name
    does not count.
    """
    if value is None or (
        topic_id != value.topic_id and ZERO_TOPIC_ID not in (topic_id, value.topic_id)
    ):
        return FetchedOffset(partition)
    return FetchedOffset(partition, value.offset, value.leader_epoch, value.metadata)


# Delete


def delete(
    group_id: str, topics: Iterable[TopicPartitions], groups: Groups, ticket: Ticket, now_ms: int
) -> Effects:
    """Delete offsets; answer with an error code for each partition, in the order of the request.

    Raises KafkaError: GROUP_ID_NOT_FOUND, an error of `Group.validate_offset_delete`.
    """
    del now_ms
    group = groups.group(group_id)
    group.validate_offset_delete()
    effects = Effects()
    codes: list[int] = []
    for topic, _, partitions in topics:
        subscribed = group.subscribed(topic)
        for partition in partitions:
            if subscribed:
                codes.append(ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC)
                continue
            codes.append(0)
            pending = groups.offsets.pending
            if groups.offsets.get(group_id, topic, partition) is not None or (
                pending.open and pending.is_open(group_id, topic, partition)
            ):
                effects.records.append(tombstone(group_id, topic, partition))
    return effects.answer(ticket, codes)
