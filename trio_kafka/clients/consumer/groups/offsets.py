"""Requests for the committed offsets of a group, and what their responses say. Does no I/O."""

from collections.abc import Iterable, Mapping
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.clients.consumer.values import OffsetAndMetadata
from trio_kafka.clients.errors import error_of
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k08_offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from trio_kafka.protocol.messages.k09_offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)

COMMIT_BY_NAME: Final = 9  # the newest versions that name topics
FETCH_BY_NAME: Final = 9
FETCH_ONE_GROUP: Final = 7  # the newest version with one group
NO_GENERATION: Final = -1
_NO_OFFSET: Final = -1


@frozen(kw_only=True)
class MemberIdentity:
    """How a member signs its requests. epoch: generation of a classic group, or member epoch."""

    member_id: str = ""
    epoch: int = NO_GENERATION
    instance_id: str | None = None


@frozen(kw_only=True)
class CommittedOffset:
    """Answer for one partition. offset: None: there is none, or an error."""

    code: ErrorCode
    offset: OffsetAndMetadata | None = None


def commit_request(
    group: str, identity: MemberIdentity, offsets: Mapping[TopicPartition, OffsetAndMetadata]
) -> OffsetCommitRequest:
    """Return a request that commits offsets."""
    topics: dict[str, OffsetCommitRequestTopic] = {}
    for at, offset in offsets.items():
        topic = topics.setdefault(at.topic, OffsetCommitRequestTopic(name=at.topic))
        topic.partitions.append(
            OffsetCommitRequestPartition(
                partition_index=at.partition,
                committed_offset=offset.offset,
                committed_leader_epoch=offset.leader_epoch,
                committed_metadata=offset.metadata,
            )
        )
    return OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=identity.epoch,
        member_id=identity.member_id,
        group_instance_id=identity.instance_id,
        topics=list(topics.values()),
    )


def commit_codes(response: OffsetCommitResponse) -> dict[TopicPartition, ErrorCode]:
    """Return the error of each partition, NONE included."""
    return {
        TopicPartition(topic.name, row.partition_index): error_of(row.error_code)
        for topic in response.topics
        for row in topic.partitions
    }


def fetch_request(
    group: str,
    partitions: Iterable[TopicPartition],
    *,
    stable: bool,
    member: MemberIdentity | None = None,
) -> OffsetFetchRequest:
    """Return a request for committed offsets, for `FETCH_BY_NAME`.

    stable: not while a transaction commits others. member: that of a KIP-848 group which asks: the
    coordinator then checks its epoch. None: nothing is checked.
    """
    topics = [
        OffsetFetchRequestTopics(name=name, partition_indexes=numbers)
        for name, numbers in _by_topic(partitions).items()
    ]
    row = OffsetFetchRequestGroup(group_id=group, topics=topics)
    if member is not None:
        row.member_id, row.member_epoch = member.member_id, member.epoch
    return OffsetFetchRequest(groups=[row], require_stable=stable)


def older_fetch(request: OffsetFetchRequest) -> OffsetFetchRequest:
    """Return a request for versions up to `FETCH_ONE_GROUP`: Kafka before 3.0."""
    row = request.groups[0]
    topics = [
        OffsetFetchRequestTopic(topic.name, topic.partition_indexes) for topic in row.topics or ()
    ]
    return OffsetFetchRequest(
        group_id=row.group_id, topics=topics, require_stable=request.require_stable
    )


def fetch_code(response: OffsetFetchResponse) -> ErrorCode:
    """Return the error of the whole answer."""
    return error_of(response.groups[0].error_code if response.groups else response.error_code)


def committed_offsets(
    response: OffsetFetchResponse,
) -> dict[TopicPartition, CommittedOffset]:
    """Return the answer for each partition, of either form."""
    answers = {}
    for topic in response.groups[0].topics if response.groups else response.topics:
        for row in topic.partitions:
            offset = None
            if row.committed_offset != _NO_OFFSET and not row.error_code:
                offset = OffsetAndMetadata(
                    row.committed_offset, row.committed_leader_epoch, row.metadata or ""
                )
            at = TopicPartition(topic.name, row.partition_index)
            answers[at] = CommittedOffset(code=error_of(row.error_code), offset=offset)
    return answers


def _by_topic(partitions: Iterable[TopicPartition]) -> dict[str, list[int]]:
    topics: dict[str, list[int]] = {}
    for at in partitions:
        topics.setdefault(at.topic, []).append(at.partition)
    return topics
