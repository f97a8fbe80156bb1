"""What an assignor is told of a group, and what it answers.

Source: ConsumerGroupPartitionAssignor, GroupSpec and SubscribedTopicDescriber (KIP-848).
"""

from collections.abc import Callable, Mapping, Set
from typing import Final, Protocol, TypeAlias

from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

Partitions: TypeAlias = Mapping[TopicId, Set[int]]  # partitions by topic; no empty sets
NO_PARTITIONS: Final[Partitions] = {}
GroupAssignment: TypeAlias = Mapping[str, Partitions]  # by member id; who is missing has nothing


class AssignorError(Exception):
    """The assignor finds no assignment; the heartbeat that asked for one says so."""


@frozen(kw_only=True)
class MemberSpec:
    """A member, as an assignor sees it.

    topics: what it subscribes to and exists, by id, with the number of partitions, in the order of
        their names. Members of equal subscription may share one mapping.
    assigned: its part of the last target assignment, which may hold topics that are gone.
    """

    topics: Mapping[TopicId, int]
    assigned: Partitions = NO_PARTITIONS
    instance_id: str | None = None
    rack_id: str | None = None


def no_racks(_topic: TopicId, _partition: int) -> Set[str]:
    """Nobody has said where its brokers are."""
    return frozenset()


@frozen(kw_only=True)
class GroupSpec:
    """The group. Nothing of it may be changed.

    homogeneous: all members subscribe to the same topics.
    owners: the member of each partition in the last target assignment.
    racks: of a partition's replicas, where brokers have said them.
    """

    members: Mapping[str, MemberSpec]
    homogeneous: bool
    owners: Mapping[TopicId, Mapping[int, str]] = field(factory=dict)
    racks: Callable[[TopicId, int], Set[str]] = no_racks


class Assignor(Protocol):
    """A way to assign, by its name: `group.remote.assignor` of consumers.

    `assign` is called with the whole group, and gives the whole assignment. It may be a generator:
    then it pauses wherever others may run, at most every millisecond. It has no side effects, and
    raises AssignorError where it finds nothing.
    """

    @property
    def name(self) -> str: ...

    def assign(self, group: GroupSpec) -> GroupAssignment | Steps[GroupAssignment]: ...
