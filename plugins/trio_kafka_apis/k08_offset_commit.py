"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. Anybody may commit to a group without members, which
is made where it is not there; a member must be of the present generation or epoch. From version 10
on topics are named by their ids. Partitions that do not exist are told so for themselves, and the
others are stored. Source: KIP-98, KIP-345, KIP-848, KIP-516.
"""

from collections.abc import Container
from typing import Any, Final

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
    whole,
)
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

IDS_SINCE: Final = 10
MANY: Final = 200  # partitions that are looked at without letting others run


@api(OffsetCommitRequest)
def offset_commit(request: OffsetCommitRequest, context: Context) -> Any:
    steps = _commit(request, context)
    return steps if sum(len(one.partitions) for one in request.topics) > MANY else whole(steps)


def _commit(request: OffsetCommitRequest, context: Context) -> Steps[Any]:
    response = OffsetCommitResponse()
    wanted: list[TopicOffsets] = []
    rows: list[OffsetCommitResponsePartition] = []  # of what is wanted, in its order
    for topic in request.topics:
        row = OffsetCommitResponseTopic(topic.name, topic.topic_id)
        response.topics.append(row)
        name, topic_id, known, code = _find(topic, context)
        offsets: list[PartitionOffset] = []
        for some in in_slices(topic.partitions, MANY):
            for one in some:
                number = one.partition_index
                part = OffsetCommitResponsePartition(number)
                row.partitions.append(part)
                if number not in known:
                    part.error_code = code
                    continue
                rows.append(part)
                offsets.append(
                    PartitionOffset(
                        number,
                        one.committed_offset,
                        one.committed_leader_epoch,
                        one.committed_metadata,
                    )
                )
            yield
        if offsets:
            wanted.append(TopicOffsets(name, topic_id, offsets))
    if not wanted:
        return response

    def answer(codes: list[int]) -> OffsetCommitResponse:
        for part, code in zip(rows, codes, strict=True):
            part.error_code = code
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
    return context.groups.commit(asked, answer)


def _find(
    topic: OffsetCommitRequestTopic, context: Context
) -> tuple[str, bytes, Container[int], ErrorCode]:
    """Name, id, which partitions there are, and what is said of others."""
    has_id = context.version >= IDS_SINCE
    image = context.metadata.image.topic(TopicId(topic.topic_id) if has_id else topic.name)
    if image is not None:
        return image.name, image.id, image.partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    code = ErrorCode.UNKNOWN_TOPIC_ID if has_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return "", b"", (), code
