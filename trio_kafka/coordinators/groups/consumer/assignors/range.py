"""Assignor `range`: every member gets one range of consecutive partitions of each topic.

Topics with equal numbers of partitions are assigned alike, so that members can join them. Members
are ordered by instance id, or else by member id. Source: RangeAssignor.
"""

from collections.abc import Iterable
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    Partitions,
)
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 500  # ranges in one step: about 0.3 ms


@define
class _Share:
    """Partitions of a topic that are left for the next members."""

    quota: int
    extra: int  # members that get one more
    begin: int = 0

    def next_range(self) -> range:
        size = self.quota
        if self.extra:
            size += 1
            self.extra -= 1
        begin = self.begin
        self.begin += size
        return range(begin, self.begin)


class RangeAssignor:
    """Assigns ranges of partitions, topic by topic."""

    name = "range"

    def assign(self, group: GroupSpec) -> Steps[GroupAssignment]:
        """Give each member its range of every topic that it subscribes to."""
        subscribers: dict[TopicId, int] = {}
        sizes: dict[TopicId, int] = {}
        for member in group.members.values():
            for topic, size in member.topics.items():
                subscribers[topic] = subscribers.get(topic, 0) + 1
                sizes[topic] = size
        shares = {topic: _Share(*divmod(size, subscribers[topic])) for topic, size in sizes.items()}
        assignment: dict[str, Partitions] = {}
        laid = 0
        for member_id in _in_order(group):
            mine: dict[TopicId, frozenset[int]] = {}
            for topic in group.members[member_id].topics:
                partitions = shares[topic].next_range()
                if partitions:
                    mine[topic] = frozenset(partitions)
                laid += 1
                if laid % _A_STEP == 0:
                    yield
            assignment[member_id] = mine
        return assignment


def _in_order(group: GroupSpec) -> Iterable[str]:
    """Return members with an instance id first, by that id, then the others by member id."""

    def place(member_id: str) -> tuple[bool, str]:
        instance_id = group.members[member_id].instance_id
        return (False, instance_id) if instance_id is not None else (True, member_id)

    return sorted(group.members, key=place)
