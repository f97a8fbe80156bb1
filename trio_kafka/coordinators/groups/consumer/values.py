"""Requests of members of consumer groups and their answers: values, not messages."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.model import TopicId

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2  # temporarily: the member comes back with its instance id
SAME: Final = -1  # rebalance timeout as before


class OwnedTopic(NamedTuple):
    """Partitions of a topic that the member says it owns."""

    topic_id: bytes
    partitions: Sequence[int]


@define  # by position: made for each request, and keywords take three times as long
class Heartbeat:
    """ConsumerGroupHeartbeat. None means unchanged. Never changed itself, see `CoordinatorRecord`.

    epoch: 0 joins, -1 and -2 leave. topics: names. owned: all partitions that the member owns now.
    fresh: a random id for a member without one. version: of the API; in version 0 the coordinator
    chose the ids of members. may_describe: says which topics an expression may match; None stands
    for all (KAFKA-18813).
    """

    group_id: str
    member_id: str
    epoch: int
    client_id: str
    client_host: str
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = SAME
    topics: Sequence[str] | None = None
    regex: str | None = None
    assignor: str | None = None
    owned: Sequence[OwnedTopic] | None = None
    fresh: str = ""
    version: int = 1
    may_describe: Callable[[str], bool] | None = None

    @property
    def is_bare(self) -> bool:
        """True if no subscription, rack or timeout is sent."""
        sent = (self.topics, self.regex, self.assignor, self.rack_id, self.rebalance_timeout_ms)
        return sent == (None, None, None, None, SAME)


@define
class HeartbeatAnswer:
    """assignment: all partitions that the member must have, if they are new or were asked for.
    Never changed.
    """

    member_id: str
    epoch: int
    heartbeat_interval_ms: int = 0
    assignment: Partitions | None = None


class DescribedTopic(NamedTuple):
    topic_id: TopicId
    topic: str
    partitions: list[int]


@frozen(kw_only=True)
class DescribedMember:
    """A member, for tools. classic: it speaks the classic protocol."""

    member_id: str
    instance_id: str | None
    rack_id: str | None
    epoch: int
    client_id: str
    client_host: str
    topics: Sequence[str]
    regex: str
    assigned: Sequence[DescribedTopic]
    target: Sequence[DescribedTopic]
    classic: bool


@frozen(kw_only=True)
class DescribedGroup:
    """The answer to ConsumerGroupDescribe."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: Sequence[DescribedMember]
