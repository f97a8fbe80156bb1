"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. A group without members accepts a commit from any
client, and is created if it does not exist; a member must be of the current generation or epoch.
From version 10 on topics are named by id. A partition that does not exist gets an error of its own,
and the others are stored. Source: KIP-98, KIP-345, KIP-848, KIP-516.

Needs READ on the group, without which the whole request fails, and READ on each topic.
"""

from collections.abc import Iterable
from functools import lru_cache, partial
from types import GeneratorType
from typing import Any, Final

from trio_kafka.plugin import (
    MANY_PARTITIONS,
    Commit,
    Context,
    Encoded,
    ErrorCode,
    Operation,
    PartitionOffset,
    Steps,
    TopicId,
    TopicOffsets,
    api,
    in_slices,
    to_bytes,
    whole,
)
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

IDS_SINCE: Final = 10
MANY: Final = 200  # partitions in one step
FEW: Final = 16  # partitions of one topic, up to which a response without errors is cached
KEPT: Final = 512  # such responses
UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@api(OffsetCommitRequest, largest=MANY_PARTITIONS)
def offset_commit(request: OffsetCommitRequest, context: Context) -> Any:
    context.authorize(Operation.READ, group=request.group_id)
    count = len(request.topics)
    for topic in request.topics:
        count += len(topic.partitions)
    if count > MANY:
        return _in_steps(request, context)
    wanted: list[TopicOffsets] = []
    told: list[int] = []
    for topic in request.topics:
        _take(topic, topic.partitions, context, wanted, told)
    return _commit(request, context, wanted, told)


def _in_steps(request: OffsetCommitRequest, context: Context) -> Steps[Any]:
    wanted: list[TopicOffsets] = []
    told: list[int] = []
    for topic in request.topics:
        for some in in_slices(topic.partitions, MANY):
            _take(topic, some, context, wanted, told)
            yield
        yield
    answer = _commit(request, context, wanted, told)
    return (yield from answer) if isinstance(answer, GeneratorType) else answer


def _take(
    topic: OffsetCommitRequestTopic,
    partitions: Iterable[OffsetCommitRequestPartition],
    context: Context,
    wanted: list[TopicOffsets],
    told: list[int],
) -> None:
    """Sort partitions of a topic: `wanted` gets the offsets to commit, `told` a code for each.

    told: in the order of the request; 0 for a partition that the group is asked for.
    """
    image = context.metadata.image
    has_id = context.version >= IDS_SINCE
    found = image.topic(TopicId(topic.topic_id)) if has_id else image.topics.get(topic.name)
    name = topic.name if found is None else found.name
    if not (has_id and found is None) and not context.is_authorized(Operation.READ, topic=name):
        told += [ErrorCode.TOPIC_AUTHORIZATION_FAILED for _ in partitions]
        return
    if found is None:
        told += [ErrorCode.UNKNOWN_TOPIC_ID if has_id else UNKNOWN for _ in partitions]
        return
    known = found.partitions
    offsets: list[PartitionOffset] = []
    for one in partitions:
        number = one.partition_index
        if number not in known:
            told.append(UNKNOWN)
            continue
        told.append(0)
        offset, epoch = one.committed_offset, one.committed_leader_epoch
        offsets.append(PartitionOffset(number, offset, epoch, one.committed_metadata))
    wanted.append(TopicOffsets(found.name, found.id, offsets))


def _commit(
    request: OffsetCommitRequest,
    context: Context,
    wanted: list[TopicOffsets],
    told: list[int],
) -> Any:
    """Ask the group to store the offsets, unless there are none."""
    version = context.version
    make = partial(_answer, request, version, told)
    if all(told):
        return make([])
    asked = Commit(
        request.group_id,
        wanted,
        request.member_id,
        request.group_instance_id,
        request.generation_id_or_member_epoch,
        version,
        request.retention_time_ms,
    )
    return context.groups.offsets.commit(asked, make)


def _answer(
    request: OffsetCommitRequest, version: int, told: list[int], codes: list[int]
) -> Encoded | OffsetCommitResponse | Steps[OffsetCommitResponse]:
    """Return the response. codes: from the group, in the order of the request."""
    topics = request.topics
    if len(topics) == 1 and len(told) <= FEW and not any(codes) and not any(told):
        topic = topics[0]
        numbers = tuple([one.partition_index for one in topic.partitions])
        return _all_well(version, topic.name, topic.topic_id, numbers)
    steps = _answer_in_steps(request, told, codes)
    return steps if len(told) + len(topics) > MANY else whole(steps)


def _answer_in_steps(
    request: OffsetCommitRequest, told: list[int], codes: list[int]
) -> Steps[OffsetCommitResponse]:
    response = OffsetCommitResponse()
    of_group, of_all = iter(codes), iter(told)
    for topic in request.topics:
        rows: list[OffsetCommitResponsePartition] = []
        response.topics.append(OffsetCommitResponseTopic(topic.name, topic.topic_id, rows))
        for some in in_slices(topic.partitions, MANY):
            for one in some:
                code = next(of_all) or next(of_group)
                rows.append(OffsetCommitResponsePartition(one.partition_index, code))
            yield
        yield
    return response


@lru_cache(maxsize=KEPT)
def _all_well(version: int, name: str, topic_id: bytes, numbers: tuple[int, ...]) -> Encoded:
    """Return the response that all partitions are stored, the usual one for a consumer."""
    rows = [OffsetCommitResponsePartition(number) for number in numbers]
    topic = OffsetCommitResponseTopic(name, topic_id, rows)
    return Encoded(to_bytes(OffsetCommitResponse(topics=[topic]), version), {0: len(numbers)})
