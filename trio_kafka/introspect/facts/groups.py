"""Facts of consumer groups."""

from trio_kafka.attributes import frozen


@frozen(kw_only=True)
class MemberFacts:
    """One member.

    heartbeat_s: since its last heartbeat. left_s: until it is removed if it says nothing; None: it
    is not, as a request of it is pending. owes: what others wait for from it, as in "has not
    rejoined for 51 s"; empty: nothing. assigned: topic to partitions.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    heartbeat_s: float | None
    left_s: float | None
    owes: str
    assigned: dict[str, tuple[int, ...]]


@frozen(kw_only=True)
class PartitionLag:
    """Lag in one partition.

    offset: committed. end: high watermark; end, lag: None if another broker leads it.
    member_id: the member that it is assigned to; None: nobody.
    """

    topic: str
    partition: int
    offset: int
    end: int | None
    lag: int | None
    member_id: str | None


@frozen(kw_only=True)
class RebalanceFacts:
    """One rebalance. at_ms: wall clock. ago_s: since it began. epoch: generation or group epoch to
    which it led. cause: in words. client_id: the client whose member caused it; empty: no member
    did.
    """

    at_ms: int
    ago_s: float
    epoch: int
    cause: str
    client_id: str


@frozen(kw_only=True)
class MembershipFacts:
    """Joins and leaves of one client of the group in the last 15 minutes, by client id.

    leaves: members that left, were removed or timed out. recent: (seconds ago, "joined" | "left" |
    "timed out"), the newest first, at most 16.
    """

    client_id: str
    joins: int
    leaves: int
    recent: tuple[tuple[float, str], ...]


@frozen(kw_only=True)
class GroupFacts:
    """One group that this broker coordinates.

    type: classic or consumer. state_s: since it is in this state; None: unknown. lag: sum over
    partitions. rebalances: the newest first, at most 8.
    """

    group_id: str
    type: str
    state: str
    state_s: float | None
    epoch: int
    protocol: str
    members: tuple[MemberFacts, ...]
    partitions: tuple[PartitionLag, ...]
    lag: int
    rebalances: tuple[RebalanceFacts, ...]
    membership: tuple[MembershipFacts, ...]
