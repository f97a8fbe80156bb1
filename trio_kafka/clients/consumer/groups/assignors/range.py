"""Range assignor: of each topic a range for each subscriber. Source: RangeAssignor of Kafka 4.4.0.

Where racks matter, members first get partitions with a replica in their racks, as many as their
range is long, and then the others. Of topics with the same number of partitions and the same
subscribers, a member gets the same numbers, if racks allow it for all of them.
"""

from collections import Counter
from collections.abc import Callable, Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.assignors.racks import (
    NO_RACKS,
    RackMatch,
    Racks,
    rack_match,
)
from trio_kafka.clients.consumer.groups.assignors.values import (
    Assignments,
    Counts,
    Members,
    MemberSubscription,
)
from trio_kafka.model import TopicPartition
from trio_kafka.scheduling.chunked_work import Steps


@define(eq=False)
class _TopicRange:
    """A topic whose partitions are being assigned. larger: members that may get one more."""

    topic: str
    count: int
    members: Sequence[str]
    match: RackMatch
    quota: int = field(init=False)
    larger: int = field(init=False)
    free: list[int] = field(init=False)
    taken: Counter[str] = field(factory=Counter, init=False)

    def __attrs_post_init__(self) -> None:
        self.quota, self.larger = divmod(self.count, len(self.members))
        self.free = list(range(self.count))

    def room(self, member: str) -> int:
        """Return how many more partitions a member may get."""
        return max(self.quota + (self.larger > 0) - self.taken[member], 0)

    def fits(self, member: str, number: int) -> bool:
        return self.match.fits(member, TopicPartition(self.topic, number))

    def give(self, member: str, numbers: list[int], assignments: Assignments) -> None:
        """Assign partitions to a member that has room for them."""
        if self.free[: len(numbers)] == numbers:
            del self.free[: len(numbers)]
        else:
            taken = set(numbers)
            self.free = [number for number in self.free if number not in taken]
        self.taken[member] += len(numbers)
        self.larger -= self.taken[member] > self.quota
        assignments[member] += [TopicPartition(self.topic, number) for number in numbers]

    def give_ranges(
        self, assignments: Assignments, fits: Callable[[str, int], bool] | None = None
    ) -> None:
        """Give each member as much of what fits as it has room for. fits: None: all of it."""
        for member in self.members:
            room = self.room(member)
            if room and self.free:
                free = self.free if fits is None else [n for n in self.free if fits(member, n)]
                if free:
                    self.give(member, free[:room], assignments)


def assign_range(counts: Counts, members: Members, racks: Racks = NO_RACKS) -> Steps[Assignments]:
    """Return the assignments, a topic in a step.

    The first members get one partition more where it does not divide.
    """
    members = sorted(members, key=lambda member: member.order)
    assignments: Assignments = {member.member_id: [] for member in members}
    topics = []
    for topic, count in sorted(counts.items()):
        subscribers = [member for member in members if topic in member.topics]
        if subscribers and count:
            topics.append(_range_of(topic, count, subscribers, racks))
        yield
    is_matched = any(topic.match.is_used for topic in topics)
    if is_matched:
        for group in _co_partitioned(topics):
            _match_racks(group, assignments)
            yield
    for topic_range in topics:
        topic_range.give_ranges(assignments)
        yield
    if is_matched:
        for owned in assignments.values():
            owned.sort()
    return assignments


def _range_of(
    topic: str, count: int, subscribers: Sequence[MemberSubscription], racks: Racks
) -> _TopicRange:
    partitions = [TopicPartition(topic, number) for number in range(count)] if racks else []
    return _TopicRange(
        topic,
        count,
        [member.member_id for member in subscribers],
        rack_match(subscribers, partitions, racks),
    )


def _co_partitioned(topics: Sequence[_TopicRange]) -> list[list[_TopicRange]]:
    """Return the topics in groups with the same subscribers and numbers of partitions."""
    groups: dict[tuple[int, tuple[str, ...]], list[_TopicRange]] = {}
    for topic in topics:
        groups.setdefault((topic.count, tuple(topic.members)), []).append(topic)
    return list(groups.values())


def _match_racks(group: Sequence[_TopicRange], assignments: Assignments) -> None:
    """Assign what is near in all topics of a group."""
    first = group[0]
    if len(group) == 1:
        if first.match.is_used:
            first.give_ranges(assignments, first.fits)
        return
    remaining = list(first.members)
    for number in range(first.count):
        for member in remaining:
            if all(topic.room(member) and topic.fits(member, number) for topic in group):
                break
        else:
            continue
        for topic in group:
            topic.give(member, [number], assignments)
        if not any(topic.room(member) for topic in group):
            remaining.remove(member)
