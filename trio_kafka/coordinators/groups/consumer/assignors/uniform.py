"""Assignor `uniform`: members get equal numbers of partitions, and keep the ones they have.

Balance comes before stickiness. With equal subscriptions the result is exact and needs one pass;
for others see `balance`. Source: UniformAssignor, UniformHomogeneousAssignmentBuilder.
"""

from collections.abc import Mapping
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.balance import assign_heterogeneous
from trio_kafka.coordinators.groups.consumer.assignors.spec import (
    GroupAssignment,
    GroupSpec,
    Partitions,
)
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 2000  # partitions in one step: about 0.3 ms


class UniformAssignor:
    """Assigns evenly, then stickily."""

    name = "uniform"

    def assign(self, group: GroupSpec) -> Steps[GroupAssignment]:
        """Assign the group. Present assignments stay as far as balance allows."""
        if not group.members:
            return {}
        if group.homogeneous:
            return (yield from _assign_homogeneous(group))
        return (yield from assign_heterogeneous(group))


@define
class _Filling:
    """A member that may get `room` more partitions."""

    member_id: str
    room: int
    kept: Partitions
    more: dict[TopicId, set[int]] = field(factory=dict)

    def take(self, topic: TopicId, partition: int) -> None:
        if topic not in self.more:
            self.more[topic] = set(self.kept.get(topic, ()))
        self.more[topic].add(partition)


def _assign_homogeneous(group: GroupSpec) -> Steps[GroupAssignment]:
    topics = next(iter(group.members.values())).topics
    if not topics:
        return {}
    free = yield from _free_partitions(group, topics)
    quota, extra = divmod(sum(topics.values()), len(group.members))
    assignment: dict[str, Partitions] = {}
    unfilled: list[_Filling] = []
    looked_at = 0
    for number, (member_id, member) in enumerate(group.members.items()):
        room, kept = _keep(member.assigned, topics, quota + (extra > 0), free)
        assignment[member_id] = kept
        if extra:
            # One more is for a member that has it already, as long as enough members follow.
            if room and len(group.members) - number > extra:
                room -= 1
            else:
                extra -= 1
        if room:
            unfilled.append(_Filling(member_id, room, kept))
        looked_at += quota + 1
        if looked_at >= _A_STEP:
            looked_at = 0
            yield
    yield from _fill(unfilled, free)
    for filling in unfilled:
        if filling.more:
            assignment[filling.member_id] = {**filling.kept, **filling.more}
    return assignment


def _free_partitions(
    group: GroupSpec, topics: Mapping[TopicId, int]
) -> Steps[list[tuple[TopicId, int]]]:
    free: list[tuple[TopicId, int]] = []
    looked_at = 0
    for topic, size in topics.items():
        owners = group.owners.get(topic, {})
        for begin in range(0, size, _A_STEP):
            numbers = range(begin, min(begin + _A_STEP, size))
            free += [(topic, number) for number in numbers if number not in owners]
            looked_at += len(numbers)
            if looked_at >= _A_STEP:
                looked_at = 0
                yield
    return free


def _keep(
    assigned: Partitions, topics: Mapping[TopicId, int], room: int, free: list[tuple[TopicId, int]]
) -> tuple[int, Partitions]:
    """Return how many more partitions a member may get, and which it keeps; the others
    become free.
    """
    kept: dict[TopicId, frozenset[int] | set[int]] = {}
    changed = False
    for topic, partitions in assigned.items():
        if topic not in topics:
            changed = True
        elif len(partitions) <= room:
            room -= len(partitions)
            kept[topic] = partitions  # type: ignore[assignment]
        else:
            changed = True
            in_order = sorted(partitions)
            if room:
                kept[topic] = frozenset(in_order[:room])
            free += [(topic, number) for number in in_order[room:]]
            room = 0
    return room, kept if changed else assigned


def _fill(unfilled: list[_Filling], free: list[tuple[TopicId, int]]) -> Steps[None]:
    position = 0
    for filling in unfilled:
        for topic, number in free[position : position + filling.room]:
            filling.take(topic, number)
        position += filling.room
        yield
