"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. Anybody may commit to a group without members, which
is made where it is not there; a member must be of the present generation or epoch. From version 10
on topics are named by their ids. Partitions that do not exist are told so for themselves, and the
others are stored. Source: KIP-98, KIP-345, KIP-848, KIP-516.
"""

from collections.abc import Callable
from typing import Any, Final

from trio_kafka.plugin import (
    Commit,
    Context,
    ErrorCode,
    PartitionOffset,
    TopicId,
    TopicOffsets,
    api,
)
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)

IDS_SINCE: Final = 10


@api(OffsetCommitRequest)
def offset_commit(request: OffsetCommitRequest, context: Context) -> Any:
    response = OffsetCommitResponse()
    wanted: list[TopicOffsets] = []
    rows: list[OffsetCommitResponsePartition] = []  # of what is wanted, in its order
    for topic in request.topics:
        row = OffsetCommitResponseTopic(topic.name, topic.topic_id)
        response.topics.append(row)
        found = _find(topic, context)
        if isinstance(found, ErrorCode):
            row.partitions = [
                OffsetCommitResponsePartition(one.partition_index, found)
                for one in topic.partitions
            ]
            continue
        name, topic_id, has = found
        offsets: list[PartitionOffset] = []
        for one in topic.partitions:
            part = OffsetCommitResponsePartition(one.partition_index)
            row.partitions.append(part)
            if not has(one.partition_index):
                part.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                continue
            rows.append(part)
            offsets.append(
                PartitionOffset(
                    one.partition_index,
                    one.committed_offset,
                    one.committed_leader_epoch,
                    one.committed_metadata,
                )
            )
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
) -> tuple[str, bytes, Callable[[int], bool]] | ErrorCode:
    """Name, id, and which partitions there are; or why there is no such topic."""
    name = TopicId(topic.topic_id) if context.version >= IDS_SINCE else topic.name
    image = context.metadata.image.topic(name)
    if image is None:
        if context.version >= IDS_SINCE:
            return ErrorCode.UNKNOWN_TOPIC_ID
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return image.name, image.id, image.partitions.__contains__
