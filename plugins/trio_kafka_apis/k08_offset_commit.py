"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. Anybody may commit to a group without members, which
is made where it is not there; a member must be of the present generation or epoch. From version 10
on topics are named by their ids. Partitions that do not exist are told so for themselves, and the
others are stored. Source: KIP-98, KIP-345, KIP-848, KIP-516.
"""

from collections.abc import Container, Iterable
from typing import Any, Final, TypeAlias

from trio_kafka.plugin import (
    Commit,
    Context,
    ErrorCode,
    PartitionOffset,
    Steps,
    TopicId,
    TopicOffsets,
    api,
    in_slices,
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
MANY: Final = 200  # partitions that are looked at without letting others run
# Of one topic: its partitions, what is said of others, what is committed, the rows of the answer.
Begun: TypeAlias = tuple[
    Container[int], ErrorCode, list[PartitionOffset], list[OffsetCommitResponsePartition]
]


@api(OffsetCommitRequest)
def offset_commit(request: OffsetCommitRequest, context: Context) -> Any:
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    if count > MANY:
        return _in_steps(request, context)
    response = OffsetCommitResponse()
    wanted: list[TopicOffsets] = []
    rows: list[OffsetCommitResponsePartition] = []
    for topic in request.topics:
        _take(topic.partitions, _begin(topic, context, response, wanted), rows)
    return _commit(request, context, response, wanted, rows)


def _in_steps(request: OffsetCommitRequest, context: Context) -> Steps[Any]:
    response = OffsetCommitResponse()
    wanted: list[TopicOffsets] = []
    rows: list[OffsetCommitResponsePartition] = []
    for topic in request.topics:
        begun = _begin(topic, context, response, wanted)
        for some in in_slices(topic.partitions, MANY):
            _take(some, begun, rows)
            yield
    return _commit(request, context, response, wanted, rows)


def _begin(
    topic: OffsetCommitRequestTopic,
    context: Context,
    response: OffsetCommitResponse,
    wanted: list[TopicOffsets],
) -> Begun:
    """Look a topic up, and give it its places in the answer and in what is asked."""
    rows: list[OffsetCommitResponsePartition] = []
    offsets: list[PartitionOffset] = []
    topic_id = topic.topic_id
    response.topics.append(OffsetCommitResponseTopic(topic.name, topic_id, rows))
    image = context.metadata.image
    has_id = context.version >= IDS_SINCE
    found = image.topic(TopicId(topic_id)) if has_id else image.topics.get(topic.name)
    if found is not None:
        wanted.append(TopicOffsets(found.name, found.id, offsets))
        return found.partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, offsets, rows
    code = ErrorCode.UNKNOWN_TOPIC_ID if has_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return (), code, offsets, rows


def _take(
    partitions: Iterable[OffsetCommitRequestPartition],
    begun: Begun,
    asked: list[OffsetCommitResponsePartition],
) -> None:
    """Commit what there is of these partitions, refuse what there is not. asked: the rows of the
    answer that the group fills in.
    """
    known, code, offsets, rows = begun
    for one in partitions:
        number = one.partition_index
        if number not in known:
            rows.append(OffsetCommitResponsePartition(number, code))
            continue
        row = OffsetCommitResponsePartition(number)
        rows.append(row)
        asked.append(row)
        offsets.append(
            PartitionOffset(
                number, one.committed_offset, one.committed_leader_epoch, one.committed_metadata
            )
        )


def _commit(
    request: OffsetCommitRequest,
    context: Context,
    response: OffsetCommitResponse,
    wanted: list[TopicOffsets],
    rows: list[OffsetCommitResponsePartition],
) -> Any:
    """Ask the group, unless there is nothing to be asked."""
    if not rows:
        return response

    def answer(codes: list[int]) -> OffsetCommitResponse:
        if any(codes):
            for row, code in zip(rows, codes, strict=True):
                row.error_code = code
        return response

    asked = Commit(
        group_id=request.group_id,
        member_id=request.member_id,
        instance_id=request.group_instance_id,
        epoch=request.generation_id_or_member_epoch,
        version=context.version,
        retention_ms=request.retention_time_ms,
        topics=wanted,
    )
    return context.groups.offsets.commit(asked, answer)
