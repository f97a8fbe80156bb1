"""Member of a classic group: its identity, its protocols and its pending requests."""

from collections.abc import Container

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.values import (
    GroupProtocol,
    MemberDescription,
)
from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.introspect.tree import Figures

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
