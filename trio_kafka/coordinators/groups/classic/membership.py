"""Who is in a classic group, and in what all of them agree.

Invariant: while there are members, at least one protocol is known to all of them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from attrs import evolve

from trio_kafka.coordinators.effects import Ticket
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.values import GroupProtocol


class Membership:
    """The members in the order in which they came.

    pending: ids that were given to clients which have not come back with them yet.
    joined: how many members wait for the answer to a join.
    """

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._instances: dict[str, str] = {}  # instance id -> member id
        self._speakers: Counter[str] = Counter()  # protocol -> how many know it
        self.pending: set[str] = set()
        self.joined = 0

    def __len__(self) -> int:
        return len(self._members)

    def __iter__(self) -> Iterator[Member]:
        return iter(self._members.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self._members

    def __getitem__(self, member_id: str) -> Member:
        return self._members[member_id]

    def get(self, member_id: str | None) -> Member | None:
        return None if member_id is None else self._members.get(member_id)

    def of_instance(self, instance_id: str) -> str | None:
        """The id of the member that is this instance now."""
        return self._instances.get(instance_id)

    @property
    def all_joined(self) -> bool:
        """Everybody waits for the generation to come, and nobody is expected any more."""
        return self.joined == len(self._members) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest that a member wants."""
        return max((member.rebalance_timeout_ms for member in self), default=0)

    # Changes

    def add(self, member: Member) -> None:
        self._members[member.member_id] = member
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.member_id
        self._count(member.protocols, 1)
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Forget the member, or the id that is pending, if there is one."""
        self.pending.discard(member_id)
        member = self._members.pop(member_id, None)
        if member is None:
            return
        self._count(member.protocols, -1)
        if member.joining is not None:
            self.joined -= 1
        if member.instance_id is not None and self.of_instance(member.instance_id) == member_id:
            del self._instances[member.instance_id]

    def rename(self, member: Member, member_id: str) -> Member:
        """The same static member under a new id; none of its requests may wait."""
        renamed = evolve(member, member_id=member_id)
        # In its place: who came first stays first.
        self._members = {
            one.member_id: one for one in (renamed if each is member else each for each in self)
        }
        if member.instance_id is not None:
            self._instances[member.instance_id] = member_id
        return renamed

    def park(self, member: Member, ticket: Ticket | None) -> Ticket | None:
        """Its join waits (None: does not wait any more); the ticket that waited until now."""
        before, member.joining = member.joining, ticket
        self.joined += (ticket is not None) - (before is not None)
        return before

    def speak(self, member: Member, protocols: tuple[GroupProtocol, ...]) -> None:
        """The member knows these from now on."""
        before, member.protocols = member.protocols, protocols
        if [name for name, _ in before] != [name for name, _ in protocols]:
            self._count(before, -1)
            self._count(protocols, 1)

    def _count(self, protocols: tuple[GroupProtocol, ...], by: int) -> None:
        for name in {name for name, _ in protocols}:  # one may be named twice
            self._speakers[name] += by
            if not self._speakers[name]:
                del self._speakers[name]

    # Agreement

    def agrees(self, protocols: Iterable[GroupProtocol]) -> bool:
        """Whether all members know one of these."""
        size, speakers = len(self._members), self._speakers
        for name, _ in protocols:  # noqa: SIM110 - a generator for each join costs more
            if speakers.get(name, 0) == size:
                return True
        return False

    def elected_protocol(self) -> str:
        """Each member votes for what it likes best of what all know; most votes win."""
        size = len(self._members)
        candidates = {name for name, count in self._speakers.items() if count == size}
        if len(candidates) == 1:
            return candidates.pop()
        votes = Counter(member.vote(candidates) for member in self)
        return max(votes, key=votes.__getitem__)
