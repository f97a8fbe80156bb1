"""Interface of assignors: the group as they see it, and their answer.

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
GroupAssignment: TypeAlias = Mapping[str, Partitions]  # by member id; a missing member gets nothing


class AssignorError(Exception):
    """There is no assignment; the heartbeat that needed one gets the error."""


@frozen(kw_only=True)
class MemberSpec:
    """A member, as an assignor sees it.

    topics: existing topics of its subscription, by id, with the number of partitions, in the order
    of their names. Members of equal subscriptions may share one mapping.
    assigned: its part of the last target assignment, which may name deleted topics.
    """

    topics: Mapping[TopicId, int]
    assigned: Partitions = NO_PARTITIONS
    instance_id: str | None = None
    rack_id: str | None = None


def no_racks(_topic: TopicId, _partition: int) -> Set[str]:
    """Return no racks: no broker has named its own."""
    return frozenset()


@frozen(kw_only=True)
class GroupSpec:
    """A group, as an assignor sees it. Read-only.

    homogeneous: all members subscribe to the same topics. owners: the member of each partition in
    the last target assignment. racks: of a partition's replicas, as far as brokers name them.
    """

    members: Mapping[str, MemberSpec]
    homogeneous: bool
    owners: Mapping[TopicId, Mapping[int, str]] = field(factory=dict)
    racks: Callable[[TopicId, int], Set[str]] = no_racks


class Assignor(Protocol):
    """An assignor, by its name: `group.remote.assignor` of consumers.

    `assign` gets the whole group and returns the whole assignment. It may be a generator that
    yields where other tasks may run, at least every millisecond. It has no side effects, and raises
    AssignorError if there is no assignment.
    """

    @property
    def name(self) -> str: ...

    def assign(self, group: GroupSpec) -> GroupAssignment | Steps[GroupAssignment]: ...
