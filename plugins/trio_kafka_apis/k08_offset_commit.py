"""OffsetCommit (key 8): store the offsets that a group has reached.

Waits, parked, until the records are committed. Anybody may commit to a group without members, which
is made where it is not there; a member must be of the present generation or epoch. From version 10
on topics are named by their ids. Partitions that do not exist are told so for themselves, and the
others are stored. Source: KIP-98, KIP-345, KIP-848, KIP-516.
"""

from collections.abc import Container, Iterable
from typing import Any, Final, NamedTuple

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


@api(OffsetCommitRequest)
def offset_commit(request: OffsetCommitRequest, context: Context) -> Any:
    plan = _Plan(request, context)
    count = 0
    for topic in request.topics:
        count += len(topic.partitions)
    if count > MANY:
        return plan.in_steps()
    for topic in request.topics:
        plan.take(topic.partitions, plan.begin(topic))
    return plan.commit()


class _Topic(NamedTuple):
    """Of one topic: which of its partitions there are, what is said of others, what is committed,
    and the rows of the answer.
    """

    known: Container[int]
    code: ErrorCode
    offsets: list[PartitionOffset]
    rows: list[OffsetCommitResponsePartition]


class _Plan:
    """What the group is asked to store, and the answer as far as it is known before."""

    __slots__ = ("_context", "_request", "_response", "_rows", "_wanted")

    def __init__(self, request: OffsetCommitRequest, context: Context) -> None:
        self._request = request
        self._context = context
        self._response = OffsetCommitResponse()
        self._wanted: list[TopicOffsets] = []
        self._rows: list[OffsetCommitResponsePartition] = []  # of what is wanted, in its order

    def in_steps(self) -> Steps[Any]:
        """As `offset_commit`, of many partitions."""
        for topic in self._request.topics:
            begun = self.begin(topic)
            for some in in_slices(topic.partitions, MANY):
                self.take(some, begun)
                yield
        return self.commit()

    def begin(self, topic: OffsetCommitRequestTopic) -> _Topic:
        """Look a topic up."""
        offsets: list[PartitionOffset] = []
        rows: list[OffsetCommitResponsePartition] = []
        context, topic_id = self._context, topic.topic_id
        image = context.metadata.image
        has_id = context.version >= IDS_SINCE
        found = image.topic(TopicId(topic_id)) if has_id else image.topics.get(topic.name)
        self._response.topics.append(OffsetCommitResponseTopic(topic.name, topic_id, rows))
        if found is None:
            code = ErrorCode.UNKNOWN_TOPIC_ID if has_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            return _Topic((), code, offsets, rows)
        self._wanted.append(TopicOffsets(found.name, found.id, offsets))
        return _Topic(found.partitions, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, offsets, rows)

    def take(self, partitions: Iterable[OffsetCommitRequestPartition], topic: _Topic) -> None:
        """Commit what there is of these partitions, refuse what there is not."""
        known, code, offsets, rows = topic
        for one in partitions:
            number = one.partition_index
            if number not in known:
                rows.append(OffsetCommitResponsePartition(number, code))
                continue
            row = OffsetCommitResponsePartition(number)
            rows.append(row)
            self._rows.append(row)
            offsets.append(
                PartitionOffset(
                    number,
                    one.committed_offset,
                    one.committed_leader_epoch,
                    one.committed_metadata,
                )
            )

    def commit(self) -> Any:
        """Ask the group, unless there is nothing to be asked."""
        if not self._rows:
            return self._response
        request, context = self._request, self._context
        asked = Commit(
            group_id=request.group_id,
            member_id=request.member_id,
            instance_id=request.group_instance_id,
            epoch=request.generation_id_or_member_epoch,
            version=context.version,
            retention_ms=request.retention_time_ms,
            topics=self._wanted,
        )
        return context.groups.offsets.commit(asked, self._answer)

    def _answer(self, codes: list[int]) -> OffsetCommitResponse:
        for row, code in zip(self._rows, codes, strict=True):
            row.error_code = code
        return self._response
