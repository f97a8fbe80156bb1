"""What members of consumer groups ask, and what they are answered: values, not messages."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.model import TopicId

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2  # for a while: it comes back under its instance id
SAME: Final = -1  # of a rebalance timeout: as before


class OwnedTopic(NamedTuple):
    """Partitions of a topic that the member says it owns."""

    topic_id: bytes
    partitions: Sequence[int]


@define  # made for each request, and by names of fields that takes three times as long
class Heartbeat:
    """ConsumerGroupHeartbeat. What is None is as before. Never changed; see `CoordinatorRecord`.

    epoch: 0 joins, -1 and -2 leave. topics: names. owned: all that the member owns now.
    fresh: an id for a member that has none; chance comes from outside.
    version: of the API; until version 0 the coordinator gave members their ids.
    may_describe: tells which topics an expression may match; None stands for all (KAFKA-18813).
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


@define
class HeartbeatAnswer:
    """assignment: all that the member shall have, where it is new or was asked for. Never
    changed.
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
    """A member as tools see it. classic: it speaks the classic protocol."""

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
    """A group as ConsumerGroupDescribe has it."""

    group_id: str
    state: str
    epoch: int
    assignment_epoch: int
    assignor: str
    members: Sequence[DescribedMember]
