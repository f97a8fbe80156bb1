"""Members of a classic group: each with its identity, protocols and pending requests.

Invariant: while there are members, all of them support at least one common protocol.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator
from operator import attrgetter
from typing import Final

from attrs import evolve

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.values import GroupProtocol, MemberDescription
from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.introspect.tree import Figures

_rebalance_timeout_ms: Final = attrgetter("rebalance_timeout_ms")
NO_ASSIGNMENT = b""


@define(eq=False, kw_only=True)
class Member:
    """join_ticket, sync_ticket: its pending requests. is_new: it has no generation yet, so it
    sends no heartbeats, and its session runs even while a request is pending.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: tuple[GroupProtocol, ...]
    assignment: bytes = NO_ASSIGNMENT
    join_ticket: Ticket | None = None
    sync_ticket: Ticket | None = None
    is_new: bool = False

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_heard(self) -> bool:
        """True while a request is pending: the client sends nothing else meanwhile."""
        return not self.is_new and (self.join_ticket is not None or self.sync_ticket is not None)

    def metadata(self, protocol: str | None) -> bytes:
        """Return the metadata for a protocol. Raises LookupError if the member does not
        support it.
        """
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        raise LookupError(f"{self.member_id} does not know the protocol {protocol}")

    def vote(self, candidates: Container[str]) -> str:
        """Return the preferred candidate. Raises LookupError if the member supports none."""
        for name, _ in self.protocols:
            if name in candidates:
                return name
        raise LookupError(f"{self.member_id} knows none of {candidates}")

    def figures(self) -> Figures:
        """Figures for the tree."""
        waits = (
            "join"
            if self.join_ticket is not None
            else "sync"
            if self.sync_ticket is not None
            else None
        )
        return {
            "instance": self.instance_id,
            "client": self.client_id,
            "host": self.client_host,
            "session_ms": self.session_timeout_ms,
            "rebalance_ms": self.rebalance_timeout_ms,
            "protocols": ", ".join(name for name, _ in self.protocols),
            "assigned_bytes": len(self.assignment),
            "waits": waits,
        }

    def description(self, protocol: str | None) -> MemberDescription:
        """Return the member for DescribeGroups. protocol: None if the group has none in force."""
        return MemberDescription(
            member_id=self.member_id,
            instance_id=self.instance_id,
            client_id=self.client_id,
            client_host=self.client_host,
            metadata=b"" if protocol is None else self.metadata(protocol),
            assignment=self.assignment,
        )


class Membership:
    """Members in the order in which they joined.

    by_id: changed by `add`, `remove` and `rename` only. pending: ids given to clients that have not
    joined with them yet. joined: members with a pending join.
    """

    def __init__(self) -> None:
        self.by_id: dict[str, Member] = {}
        self._instances: dict[str, str] = {}  # instance id -> member id
        self._speakers: Counter[str] = Counter()  # members by protocol
        self.pending: set[str] = set()
        self.joined = 0

    def __len__(self) -> int:
        return len(self.by_id)

    def __iter__(self) -> Iterator[Member]:
        return iter(self.by_id.values())

    def __contains__(self, member_id: str) -> bool:
        return member_id in self.by_id

    def __getitem__(self, member_id: str) -> Member:
        return self.by_id[member_id]

    def of_instance(self, instance_id: str) -> str | None:
        """Return the id of the member that has this instance id."""
        return self._instances.get(instance_id)

    @property
    def all_joined(self) -> bool:
        """True if every member has a pending join, and no id is pending."""
        return self.joined == len(self.by_id) and not self.pending

    @property
    def rebalance_timeout_ms(self) -> int:
        """Longest rebalance timeout of the members."""
        return max(map(_rebalance_timeout_ms, self.by_id.values()), default=0)

    # Changes

    def add(self, member: Member) -> None:
        self.by_id[member.member_id] = member
        if member.instance_id is not None:
            self._instances[member.instance_id] = member.member_id
        self._count(member.protocols, 1)
        self.joined += member.join_ticket is not None
        self.pending.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id, if there is one."""
        self.pending.discard(member_id)
        member = self.by_id.pop(member_id, None)
        if member is None:
            return
        self._count(member.protocols, -1)
        if member.join_ticket is not None:
            self.joined -= 1
        if member.instance_id is not None and self.of_instance(member.instance_id) == member_id:
            del self._instances[member.instance_id]

    def rename(self, member: Member, member_id: str) -> Member:
        """Return a static member under its new id. None of its requests may be pending.

        It is not new even if its first join was pending: that client is gone, and the one that
        joins now is alive while its request waits. Source: ClassicGroup.replaceStaticMember.
        """
        renamed = evolve(member, member_id=member_id, is_new=False)
        # At the same place: the order of joining stays.
        members = [renamed if other is member else other for other in self]
        self.by_id = {other.member_id: other for other in members}
        if member.instance_id is not None:
            self._instances[member.instance_id] = member_id
        return renamed

    def set_join(self, member: Member, ticket: Ticket | None) -> Ticket | None:
        """Set the ticket of a pending join, or None; return the previous one."""
        before, member.join_ticket = member.join_ticket, ticket
        self.joined += (ticket is not None) - (before is not None)
        return before

    def set_protocols(self, member: Member, protocols: tuple[GroupProtocol, ...]) -> None:
        """Set the protocols that a member supports."""
        before, member.protocols = member.protocols, protocols
        if [name for name, _ in before] != [name for name, _ in protocols]:
            self._count(before, -1)
            self._count(protocols, 1)

    def _count(self, protocols: tuple[GroupProtocol, ...], by: int) -> None:
        for name in dict(protocols):  # a name may occur twice
            self._speakers[name] += by
            if not self._speakers[name]:
                del self._speakers[name]

    # Agreement

    def agrees(self, protocols: Iterable[GroupProtocol]) -> bool:
        """Return whether all members support one of these protocols."""
        size, speakers = len(self.by_id), self._speakers
        for name, _ in protocols:  # noqa: SIM110 - a generator for each join costs more
            if speakers.get(name, 0) == size:
                return True
        return False

    def elected_protocol(self) -> str:
        """Return the common protocol that most members prefer."""
        size = len(self.by_id)
        candidates = {name for name, count in self._speakers.items() if count == size}
        if len(candidates) == 1:
            return candidates.pop()
        votes = Counter(member.vote(candidates) for member in self)
        return max(votes, key=votes.__getitem__)
