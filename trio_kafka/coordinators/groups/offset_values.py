"""Requests for committed offsets and their answers: values, not messages."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode

NO_OFFSET: Final = -1
NO_EPOCH: Final = -1
DEFAULT_RETENTION: Final = -1
GROUP_ID_SINCE: Final = 9  # version of OffsetCommit whose clients know GROUP_ID_NOT_FOUND


class PartitionOffset(NamedTuple):
    """An offset to commit for a partition. metadata: the client's own text."""

    partition: int
    offset: int
    leader_epoch: int
    metadata: str | None


class TopicOffsets(NamedTuple):
    """Offsets to commit for a topic. topic_id: zero if the client did not send it."""

    topic: str
    topic_id: bytes
    partitions: Sequence[PartitionOffset]


@define  # by position: made for each request, and keywords take three times as long
class Commit:
    """Offsets to commit for a group. Never changed, see `CoordinatorRecord`.

    epoch: generation or member epoch; negative for a client that is no member. version: of
    OffsetCommit. retention_ms: -1 for the broker's own.
    """

    group_id: str
    topics: Sequence[TopicOffsets]
    member_id: str = ""
    instance_id: str | None = None
    epoch: int = NO_EPOCH
    version: int = GROUP_ID_SINCE
    retention_ms: int = DEFAULT_RETENTION


class FetchedOffset(NamedTuple):
    """Committed offset of a partition, -1 if there is none."""

    partition: int
    offset: int = NO_OFFSET
    leader_epoch: int = NO_EPOCH
    metadata: str = ""
    error: ErrorCode = ErrorCode.NONE


class FetchedTopic(NamedTuple):
    """Committed offsets of a topic, partitions in the order of the request."""

    topic: str
    topic_id: bytes
    partitions: list[FetchedOffset]


class TopicPartitions(NamedTuple):
    """Partitions of a topic whose offsets are fetched or deleted."""

    topic: str
    topic_id: bytes
    partitions: Sequence[int]


@frozen(kw_only=True)
class FetchOffsets:
    """Offsets to fetch for a group. topics: None for all.

    require_stable: leave out offsets that an open transaction may change.
    """

    group_id: str
    member_id: str | None = None
    epoch: int = NO_EPOCH
    topics: Sequence[TopicPartitions] | None
    require_stable: bool = False
