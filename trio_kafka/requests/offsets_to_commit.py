"""Offsets that a request asks a group to store, checked against the topics that exist.

OffsetCommit and TxnOffsetCommit name them alike. Source: KIP-98, KIP-516.
"""

from collections.abc import Container, Iterable, Iterator
from itertools import chain, repeat
from typing import Final, Protocol

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.offset_values import PartitionOffset, TopicOffsets
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicId
from trio_kafka.requests.context import Context
from trio_kafka.security.operations import Operation

UNKNOWN: Final = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def final_codes(
    codes: Iterable[Iterable[int]], of_group: Iterable[int] | KafkaError
) -> Iterator[int]:
    """Return the error codes of all partitions, in the order of the request.

    codes: for each topic those of `OffsetsToCommit.add`. of_group: what the group answers for the
    zeros among them, in their order, or one error for all of them. Partitions with an error of
    their own keep it. Source: OffsetCommitResponse.Builder.merge.
    """
    stored = repeat(int(of_group.code)) if isinstance(of_group, KafkaError) else iter(of_group)
    return (code or next(stored) for code in chain.from_iterable(codes))


class NamedTopic(Protocol):
    """Topic of a request."""

    name: str
    topic_id: bytes


class OffsetOfPartition(Protocol):
    """Partition of a request."""

    partition_index: int
    committed_offset: int
    committed_leader_epoch: int
    committed_metadata: str | None


@define(eq=False)
class OffsetsToCommit:
    """Offsets by topic, in the order of the request.

    has_ids: topics are named by id. partitions, offsets: of the topic whose rows are being added.
    """

    context: Context
    has_ids: bool
    topics: list[TopicOffsets] = field(factory=list, init=False)
    has_offsets: bool = field(default=False, init=False)
    partitions: Container[int] = field(default=(), init=False)
    offsets: list[PartitionOffset] = field(factory=list, init=False)

    def begin_topic(self, topic: NamedTopic) -> None:
        """Begin a topic. Raises KafkaError if it does not exist, or may not be read."""
        image = self.context.image
        if self.has_ids:
            existing = image.topic(TopicId(topic.topic_id))
            if existing is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        else:
            existing = image.topics.get(topic.name)
        self.context.authorize(
            Operation.READ, topic=topic.name if existing is None else existing.name
        )
        if existing is None:
            raise KafkaError(UNKNOWN)
        self.partitions, self.offsets = existing.partitions, []
        self.topics.append(TopicOffsets(existing.name, existing.id, self.offsets))

    def add(self, _topic: NamedTopic, row: OffsetOfPartition) -> int:
        """Add a partition. Return its error code; 0: the group decides."""
        if row.partition_index not in self.partitions:
            return UNKNOWN
        self.has_offsets = True
        self.offsets.append(
            PartitionOffset(
                row.partition_index,
                row.committed_offset,
                row.committed_leader_epoch,
                row.committed_metadata,
            )
        )
        return 0
