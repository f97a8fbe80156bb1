"""Sticky assignors: as balanced as the subscriptions allow, and of what was owned as much as that
allows stays.

The result has the balance of Kafka's AbstractStickyAssignor; which of several equally good
partitions move may differ. The cooperative one gives a partition only to its owner or, once it has
no owner any more, to another member: that is the next rebalance.
"""

from collections import deque
from typing import Final

from trio_kafka.clients.consumer.groups.assignors.values import Assignments, Counts, Members
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import Steps, in_slices

_LOOKS: Final = 5000  # looks at the load of a member in one step: 1 ms


def assign_sticky(counts: Counts, members: Members) -> Steps[Assignments]:
    """Return the assignments, in steps."""
    yield
    members = sorted(members, key=lambda member: member.order)
    if not members:
        return {}
    kept = _kept(counts, members)
    subscriptions = {frozenset(member.topics & counts.keys()) for member in members}
    if len(subscriptions) == 1:
        return _quotas(counts, members, kept)
    return (yield from _balanced(counts, members, kept))


def assign_cooperative(counts: Counts, members: Members) -> Steps[Assignments]:
    """Return the assignments, in steps, without partitions that another member still owns."""
    assignments = yield from assign_sticky(counts, members)
    owners = {at: member for member, owned in _kept(counts, members).items() for at in owned}
    return {
        member: [at for at in partitions if owners.get(at, member) == member]
        for member, partitions in assignments.items()
    }


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


def _quotas(counts: Counts, members: Members, kept: Assignments) -> Assignments:
    """Assign when all subscriptions are the same: linear in the number of partitions."""
    topics = members[0].topics
    partitions = [
        TopicPartition(topic, number)
        for topic in sorted(topics & counts.keys())
        for number in range(counts[topic])
    ]
    quota, larger = divmod(len(partitions), len(members))
    assignments: Assignments = {}
    for member in sorted(members, key=lambda member: -len(kept[member.member_id])):
        limit = quota
        if larger and len(kept[member.member_id]) > quota:
            limit, larger = quota + 1, larger - 1
        assignments[member.member_id] = kept[member.member_id][:limit]
    taken = {at for owned in assignments.values() for at in owned}
    free = deque(at for at in partitions if at not in taken)
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


def _balanced(counts: Counts, members: Members, kept: Assignments) -> Steps[Assignments]:
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

    for partitions in in_slices(free, slice_size):
        for at in partitions:
            if at not in taken:
                assignments[min(subscribers[at.topic], key=load)].append(at)
        yield
    moved = True
    while moved:  # each move lowers the sum of the squares of the loads
        moved = False
        for giver in sorted(assignments, key=load, reverse=True):
            for partitions in in_slices(list(assignments[giver]), slice_size):
                for at in partitions:
                    taker = min(subscribers[at.topic], key=load)
                    if load(taker) + 1 < load(giver):
                        assignments[giver].remove(at)
                        assignments[taker].append(at)
                        moved = True
                yield
    return assignments
