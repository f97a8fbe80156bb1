"""Part of the assignor `uniform` for members with different subscriptions.

Partitions that members have and still want stay. Free ones go, topic by topic, to the subscriber
with the least load. Then partitions move from the most loaded to the least loaded, until the
subscribers of no topic differ by more than one, or for 16 rounds: subscriptions that overlap like a
chain would take longer than balance is worth. Source: UniformHeterogeneousAssignmentBuilder.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.spec import GroupAssignment, GroupSpec
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

_MOST_ROUNDS: Final = 16
_NOBODY: Final = -1
_A_STEP: Final = 500  # partitions placed or moved in one step: about 0.5 ms


@define
class _Assignment:
    """Owners by topic and partition, members by number; loads: partitions of each member."""

    sizes: dict[TopicId, int]
    subscribers: dict[TopicId, list[int]]
    owners: dict[TopicId, list[int]]
    loads: list[int]

    def place(self, topic: TopicId, partition: int, member: int) -> None:
        owners = self.owners[topic]
        if owners[partition] != _NOBODY:
            self.loads[owners[partition]] -= 1
        owners[partition] = member
        self.loads[member] += 1

    def in_order(self, topics: Iterable[TopicId]) -> list[TopicId]:
        """Return topics with most partitions per subscriber first, then those with fewer
        subscribers.
        """

        def place(topic: TopicId) -> tuple[float, int, tuple[int, int]]:
            count = len(self.subscribers[topic])
            return -(self.sizes[topic] / count), count, _signed_halves(topic)

        return sorted(topics, key=place)


def _signed_halves(topic: TopicId) -> tuple[int, int]:
    """Return the sort key of Java's UUIDs: two signed longs."""
    return (
        int.from_bytes(topic[:8], "big", signed=True),
        int.from_bytes(topic[8:], "big", signed=True),
    )


@define
class _Levels:
    """Subscribers of one topic, sorted by load.

    Both ends are ranges of members with equal loads. [0, low_end) is filled evenly and grows to the
    right; [high_begin, high_end) is emptied evenly and grows to the left.
    """

    loads: list[int]
    members: list[int] = field(factory=list)
    low_end: int = 0
    low_load: int = 0
    next_low: int = 0
    high_begin: int = 0
    high_end: int = 0
    high_load: int = 0
    next_high: int = 0

    def begin(self, subscribers: Sequence[int]) -> int:
        """Sort the members, and return the difference of the extreme loads."""
        loads = self.loads
        self.members = sorted(subscribers, key=lambda member: (loads[member], member))
        least, most = loads[self.members[0]], loads[self.members[-1]]
        self.low_end = self.next_low = 0
        self.low_load = least - 1
        self.high_begin = self.high_end = len(self.members)
        self.high_load = most + 1
        self.next_high = len(self.members) - 1
        return most - least

    def is_balanced(self) -> bool:
        """True if another move would gain nothing."""
        return self.high_load - self.low_load <= 1

    def take_low(self) -> int:
        """Return the member that gets the next partition."""
        if self.next_low >= self.low_end:
            self.low_load += 1
            while (
                self.low_end < len(self.members)
                and self.loads[self.members[self.low_end]] == self.low_load
            ):
                self.low_end += 1
            self.next_low = 0
        self.next_low += 1
        return self.members[self.next_low - 1]

    def take_high(self) -> int:
        """Return the member that gives the next partition, or _NOBODY."""
        if self.next_high < self.high_begin:
            if self.high_end <= self.high_begin and self.high_begin > 0:
                # No member of the range can give: continue with its neighbour.
                self.high_load = self.loads[self.members[self.high_begin - 1]]
            else:
                self.high_load -= 1
            while (
                self.high_begin > 0
                and self.loads[self.members[self.high_begin - 1]] == self.high_load
            ):
                self.high_begin -= 1
            self.next_high = self.high_end - 1
        if self.next_high < 0:
            return _NOBODY
        self.next_high -= 1
        return self.members[self.next_high + 1]

    def exclude_high(self) -> None:
        """Exclude the member of the last `take_high`, which has nothing of this topic."""
        here, last = self.next_high + 1, self.high_end - 1
        self.members[here], self.members[last] = self.members[last], self.members[here]
        self.high_end -= 1


def assign_heterogeneous(group: GroupSpec) -> Steps[GroupAssignment]:
    """Assign as evenly as the subscriptions allow, then as stickily as that allows."""
    member_ids = list(group.members)
    state = yield from _retain(group, member_ids)
    if not state.sizes:
        return {}
    levels = _Levels(state.loads)
    yield from _place_free(state, levels)
    yield from _balance(state, levels)
    return (yield from _by_member(state, member_ids))


def _retain(group: GroupSpec, member_ids: list[str]) -> Steps[_Assignment]:
    """Return the assignment without partitions that members no longer want."""
    sizes: dict[TopicId, int] = {}
    subscribers: dict[TopicId, list[int]] = {}
    for number, member_id in enumerate(member_ids):
        for topic, size in group.members[member_id].topics.items():
            sizes[topic] = size
            subscribers.setdefault(topic, []).append(number)
        if number % 100 == 99:
            yield
    owners = {topic: [_NOBODY] * size for topic, size in sizes.items()}
    state = _Assignment(sizes, subscribers, owners, [0] * len(member_ids))
    done = 0
    for number, member_id in enumerate(member_ids):
        member = group.members[member_id]
        for topic, partitions in member.assigned.items():
            if topic in member.topics:
                of_topic = owners[topic]
                for partition in partitions:
                    of_topic[partition] = number
                state.loads[number] += len(partitions)
                done += len(partitions)
        if done >= _A_STEP:
            done = 0
            yield
    return state


def _place_free(state: _Assignment, levels: _Levels) -> Steps[None]:
    free = {
        topic: [number for number, owner in enumerate(owners) if owner == _NOBODY]
        for topic, owners in state.owners.items()
    }
    yield
    placed = 0
    for topic in state.in_order(topic for topic, numbers in free.items() if numbers):
        levels.begin(state.subscribers[topic])
        for partition in free[topic]:
            state.place(topic, partition, levels.take_low())
            placed += 1
            if placed % _A_STEP == 0:
                yield
        yield


def _balance(state: _Assignment, levels: _Levels) -> Steps[None]:
    """Move partitions topic by topic, until a whole round moves nothing."""
    topics = state.in_order(
        topic for topic, subscribers in state.subscribers.items() if len(subscribers) > 1
    )
    moved_last = _NOBODY  # position of the topic with the last move
    for _ in range(_MOST_ROUNDS):
        for position, topic in enumerate(topics):
            if position == moved_last:
                return
            moved = yield from _balance_topic(state, levels, topic)
            if moved or moved_last == _NOBODY:
                moved_last = position


def _balance_topic(state: _Assignment, levels: _Levels, topic: TopicId) -> Steps[bool]:
    """Move partitions of one topic, last ones first; return whether any was moved."""
    if levels.begin(state.subscribers[topic]) <= 1:
        yield
        return False
    owned: Mapping[int, list[int]] = _group_by_owner(state.owners[topic])
    moves = 0
    while not levels.is_balanced():
        giver = levels.take_high()
        while giver != _NOBODY and not owned.get(giver):
            levels.exclude_high()
            giver = levels.take_high()
        if giver == _NOBODY:
            break
        partition = owned[giver].pop()
        taker = levels.take_low()
        if levels.is_balanced():
            break
        state.place(topic, partition, taker)
        moves += 1
        if moves % _A_STEP == 0:
            yield
    yield
    return moves > 0


def _group_by_owner(owners: list[int]) -> dict[int, list[int]]:
    by_owner: dict[int, list[int]] = {}
    for partition, owner in enumerate(owners):
        by_owner.setdefault(owner, []).append(partition)
    return by_owner


def _by_member(state: _Assignment, member_ids: list[str]) -> Steps[GroupAssignment]:
    assigned: dict[str, dict[TopicId, set[int]]] = {member_id: {} for member_id in member_ids}
    done = 0
    for topic, owners in state.owners.items():
        for partition, owner in enumerate(owners):
            assigned[member_ids[owner]].setdefault(topic, set()).add(partition)
            done += 1
            if done % (2 * _A_STEP) == 0:
                yield
    return assigned
