"""Sticky assignors: as balanced as the subscriptions allow, and of what was owned as much as that
allows stays.

The result has the balance of Kafka's AbstractStickyAssignor; which of several equally good
partitions move may differ. Where racks matter, a member keeps only what is near to it, and what is
free goes first to a member that is near. The cooperative one gives a partition only to its owner
or, once it has no owner any more, to another member: that is the next rebalance.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from typing import Final

from trio_kafka.clients.consumer.groups.assignors.racks import (
    ANYWHERE,
    NO_RACKS,
    RackMatch,
    Racks,
    rack_match,
)
from trio_kafka.clients.consumer.groups.assignors.values import Assignments, Counts, Members
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_LOOKS: Final = 5000  # looks at the load of a member in one step: 1 ms


def assign_sticky(counts: Counts, members: Members, racks: Racks = NO_RACKS) -> Steps[Assignments]:
    """Return the assignments, in steps."""
    yield
    members = sorted(members, key=lambda member: member.order)
    if not members:
        return {}
    topics = frozenset[str]().union(*(member.topics for member in members)) & counts.keys()
    partitions = [
        TopicPartition(topic, number) for topic in sorted(topics) for number in range(counts[topic])
    ]
    match = rack_match(members, partitions, racks) if racks else ANYWHERE
    owned = _kept(counts, members)
    near = {member: [at for at in part if match.fits(member, at)] for member, part in owned.items()}
    if all(topics <= member.topics for member in members):
        return (yield from _quotas(partitions, members, near, match))
    assignments = yield from _balanced(counts, members, near, match)
    if match.is_used:  # moves of one partition may not make up for what racks have preferred
        plain = yield from _balanced(counts, members, owned, ANYWHERE)
        if _imbalance(plain) < _imbalance(assignments):
            return plain
    return assignments


def assign_cooperative(
    counts: Counts, members: Members, racks: Racks = NO_RACKS
) -> Steps[Assignments]:
    """Return the assignments, in steps, without partitions that another member still owns."""
    assignments = yield from assign_sticky(counts, members, racks)
    owners = {at: member for member, owned in _kept(counts, members).items() for at in owned}
    return {
        member: [at for at in partitions if owners.get(at, member) == member]
        for member, partitions in assignments.items()
    }


def _imbalance(assignments: Assignments) -> int:
    return sum(len(owned) ** 2 for owned in assignments.values())


def _kept(counts: Counts, members: Members) -> Assignments:
    """Return what each member may keep: of two that claim a partition, the later generation."""
    owners: dict[TopicPartition, str] = {}
    disputed: set[TopicPartition] = set()
    generations: dict[TopicPartition, int] = {}
    for member in members:
        for at in member.owned:
            if at.topic not in member.topics or at.partition >= counts.get(at.topic, 0):
                continue
            before = generations.get(at)
            if before is not None and member.generation <= before:
                if member.generation == before:
                    disputed.add(at)
                continue
            disputed.discard(at)
            owners[at], generations[at] = member.member_id, member.generation
    kept: Assignments = {member.member_id: [] for member in members}
    for at in sorted(owners):
        if at not in disputed:
            kept[owners[at]].append(at)
    return kept


def _quotas(
    partitions: Sequence[TopicPartition], members: Members, kept: Assignments, match: RackMatch
) -> Steps[Assignments]:
    """Assign when all subscriptions are the same; without racks linear in the partitions."""
    quota, larger = divmod(len(partitions), len(members))
    assignments: Assignments = {}
    for member in sorted(members, key=lambda member: -len(kept[member.member_id])):
        limit = quota
        if larger and len(kept[member.member_id]) > quota:
            limit, larger = quota + 1, larger - 1
        assignments[member.member_id] = kept[member.member_id][:limit]
    taken = {at for owned in assignments.values() for at in owned}
    free = deque(at for at in partitions if at not in taken)
    if match.is_used:
        free = yield from _near(free, assignments, quota, larger, match)
    for member in members:
        owned = assignments[member.member_id]
        while free and len(owned) < quota:
            owned.append(free.popleft())
    for member in members:
        if not free:
            break
        if len(assignments[member.member_id]) == quota:
            assignments[member.member_id].append(free.popleft())
    return assignments


def _near(
    free: Iterable[TopicPartition],
    assignments: Assignments,
    quota: int,
    larger: int,
    match: RackMatch,
) -> Steps[deque[TopicPartition]]:
    """Give partitions to the least loaded members that are near; return those that are left.

    larger: members that may have one more than their quota. Partitions with the fewest members
    near come first.
    """
    near = {at: [name for name in assignments if match.is_near(name, at)] for at in free}
    rest = deque[TopicPartition]()
    slice_size = max(_LOOKS // len(assignments), 1)
    for partitions in in_slices(sorted(near, key=lambda at: (len(near[at]), at)), slice_size):
        for at in partitions:
            member = min(near[at], key=lambda name: len(assignments[name]), default=None)
            size = quota + 1 if member is None else len(assignments[member])
            if member is None or size > quota or (size == quota and not larger):
                rest.append(at)
                continue
            larger -= size == quota
            assignments[member].append(at)
        yield
    return deque(sorted(rest))


def _balanced(
    counts: Counts, members: Members, kept: Assignments, match: RackMatch
) -> Steps[Assignments]:
    """Assign when subscriptions differ: to the least loaded subscriber, then move what helps."""
    assignments = {member: list(owned) for member, owned in kept.items()}
    subscribers = {
        topic: [member.member_id for member in members if topic in member.topics]
        for topic in counts
    }
    slice_size = max(_LOOKS // len(members), 1)
    taken = {at for owned in assignments.values() for at in owned}
    free = (
        TopicPartition(topic, number)
        for topic in sorted(counts, key=lambda topic: (len(subscribers[topic]), topic))
        if subscribers[topic]
        for number in range(counts[topic])
    )

    def load(member: str) -> int:
        return len(assignments[member])

    def takers(at: TopicPartition) -> list[str]:
        """Return the least loaded subscriber, before it the least loaded one that is near."""
        names = subscribers[at.topic]
        near = [name for name in names if match.is_near(name, at)] if match.is_used else []
        return [min(part, key=load) for part in (near, names) if part]

    for partitions in in_slices(free, slice_size):
        for at in partitions:
            if at not in taken:
                assignments[takers(at)[0]].append(at)
        yield
    moved = True
    while moved:  # each move lowers the sum of the squares of the loads
        moved = False
        for giver in sorted(assignments, key=load, reverse=True):
            for partitions in in_slices(list(assignments[giver]), slice_size):
                for at in partitions:
                    for taker in takers(at):
                        if load(taker) + 1 < load(giver):
                            assignments[giver].remove(at)
                            assignments[taker].append(at)
                            moved = True
                            break
                yield
    return assignments
