"""Classic group: its state, its members and the checks of requests.

The requests are handled in `joining`, `syncing`, `session` and `leaving`; `rebalance` has what they
share. Much of this state is in no record: pending requests, all supported protocols, the generation
that is being prepared. So a group's own records are replayed only while it is loaded. Source:
ClassicGroup of Apache Kafka 4.4.0.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, SetTimer, TimerKey
from trio_kafka.coordinators.groups.classic.member import Member
from trio_kafka.coordinators.groups.classic.membership import Membership
from trio_kafka.coordinators.groups.classic.values import (
    Described,
    GroupProtocol,
    JoinedMember,
)
from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.coordinators.groups.protocols import GroupType
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey

CONSUMER: Final = "consumer"  # the protocol type of consumers
SESSION: Final = "classic-session"  # removes a member or a pending id
JOIN: Final = "classic-join"  # ends the wait for joins
SYNC: Final = "classic-sync"  # ends the wait for syncs
REMEMBERED: Final = 8  # rebalances that are shown


class ClassicState(Enum):
    """State of a classic group. The value is the text that Kafka's tools print."""

    EMPTY = "Empty"  # no members; kept while it has offsets
    PREPARING_REBALANCE = "PreparingRebalance"  # members must join; joins are pending
    COMPLETING_REBALANCE = (
        "CompletingRebalance"  # members know their generation; the leader assigns
    )
    STABLE = "Stable"  # every member has its assignment
    DEAD = "Dead"  # deleted or converted


PREVIOUS: Final[Mapping[ClassicState, frozenset[ClassicState]]] = {
    ClassicState.EMPTY: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.PREPARING_REBALANCE: frozenset(
        {ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE, ClassicState.EMPTY}
    ),
    ClassicState.COMPLETING_REBALANCE: frozenset({ClassicState.PREPARING_REBALANCE}),
    ClassicState.STABLE: frozenset({ClassicState.COMPLETING_REBALANCE}),
    ClassicState.DEAD: frozenset(ClassicState),
}
"""From which states one is entered."""


@frozen
class InitialDelay:
    """Wait of an empty group's first rebalance for more members, and by how much it may be
    extended, in ms.
    """

    delay_ms: int
    left_ms: int


@frozen
class Rebalance:
    """A rebalance and its cause, for inspection."""

    at_ms: int
    generation: int
    cause: str


@define(eq=False, kw_only=True)
class ClassicGroup:
    """phase, before: the state and the one before it. since_ms: when the state was entered; None in
    records of old brokers. leader: id of the member that assigns.

    syncs_due: members that joined this generation and have not synced yet.
    topics: topics that the members subscribe to; None if their metadata are of an unknown protocol.
    newcomers: members joined during the initial delay.
    """

    group_id: str
    phase: ClassicState = ClassicState.EMPTY
    before: ClassicState = ClassicState.DEAD
    since_ms: int | None
    generation: int = 0
    protocol_type: str = ""
    protocol_name: str | None = None
    leader: str | None = None
    membership: Membership = field(factory=Membership)
    syncs_due: set[str] = field(factory=set)
    topics: frozenset[str] | None = None
    initial: InitialDelay | None = None
    newcomers: bool = False
    rebalances: deque[Rebalance] = field(factory=lambda: deque(maxlen=REMEMBERED))

    @property
    def type(self) -> GroupType:
        return "classic"

    @property
    def state(self) -> str:
        return self.phase.value

    @property
    def is_empty(self) -> bool:
        return self.phase is ClassicState.EMPTY

    @property
    def is_simple(self) -> bool:
        """True if the group never had members: it only has offsets."""
        return not self.protocol_type and self.is_empty and not self.membership.pending

    def members(self) -> Sequence[Member]:
        return list(self.membership)

    # Timers

    def session_timer(self, member_id: str) -> TimerKey:
        return (SESSION, self.group_id, member_id)

    @property
    def join_timer(self) -> TimerKey:
        return (JOIN, self.group_id)

    @property
    def sync_timer(self) -> TimerKey:
        return (SYNC, self.group_id)

    def timers(self) -> list[TimerKey]:
        """Keys of all timers that may be set."""
        ids = [*self.membership.pending, *(member.member_id for member in self.membership)]
        return [self.join_timer, self.sync_timer, *map(self.session_timer, ids)]

    # Changes

    def enter(self, phase: ClassicState, now_ms: int) -> None:
        """Enter a state. InvariantError unless the current one allows it."""
        if self.phase not in PREVIOUS[phase]:
            raise InvariantError(f"group {self.group_id}: from {self.phase} to {phase}")
        self.before, self.phase, self.since_ms = self.phase, phase, now_ms

    def add(self, member: Member) -> None:
        """Add a member. The first one leads, and sets the group's protocol type."""
        if not self.membership:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.membership.add(member)

    def remove(self, member_id: str) -> None:
        """Remove a member or a pending id. Another member leads if the leader goes. The rebalance
        that follows clears the syncs that are due.
        """
        self.membership.remove(member_id)
        if self.leader == member_id:
            self.leader = next((member.member_id for member in self.membership), None)

    # Admission of members

    def speaks(self, protocol_type: str, protocols: Sequence[GroupProtocol]) -> bool:
        """Return whether a client with these protocols may be a member."""
        if self.phase is ClassicState.EMPTY:
            return bool(protocol_type and protocols)
        return self.protocol_type == protocol_type and self.membership.agrees(protocols)

    def accepts(self, member_id: str, max_size: int) -> bool:
        """Return whether the group has room for a client that joins with this id.

        While members join, pending joins count: the last members of a group that is too large are
        rejected.
        """
        phase, membership = self.phase, self.membership
        if phase is ClassicState.PREPARING_REBALANCE:
            if membership.joined < max_size:
                return True
            member = membership.get(member_id)
            return member is not None and member.joining is not None
        if phase in (ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
            return len(membership) < max_size or member_id in membership
        return True

    def leads(self, member_id: str) -> bool:
        return self.leader == member_id

    def told(self) -> tuple[JoinedMember, ...]:
        """Return all members, as the leader sees them."""
        return tuple(member.told(self.protocol_name) for member in self.membership)

    # Checks

    def validate_member(self, member_id: str, instance_id: str | None) -> Member:
        """Return the member. Raises KafkaError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another
        member has the instance id now.
        """
        if instance_id is not None:
            current = self.membership.of_instance(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.membership.get(member_id)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    def validate_generation(self, generation: int) -> None:
        if generation != self.generation:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)

    def validate_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        version: int,
        topics: Sequence[TopicOffsets],
    ) -> Effects:
        """See `Group`. A client that is no member may commit only while there are no members."""
        del version, topics
        if self.phase is ClassicState.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if epoch < 0 and self.phase is ClassicState.EMPTY:
            return Effects()
        if epoch < 0 and not member_id and instance_id is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        member = self.validate_member(member_id, instance_id)
        self.validate_generation(epoch)
        if self.phase is ClassicState.COMPLETING_REBALANCE:
            # The member does not know its assignment yet.
            raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
        timer = SetTimer((SESSION, self.group_id, member_id), member.session_timeout_ms)
        return Effects([], [], [timer])

    def validate_fetch(self, member_id: str | None, epoch: int) -> None:
        """See `Group`. Every client may fetch while the group exists."""
        del member_id, epoch
        self._validate_alive()

    def validate_offset_delete(self) -> None:
        self._validate_alive()
        if not self.is_empty and self.protocol_type != CONSUMER:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def validate_delete(self) -> None:
        self._validate_alive()
        if not self.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def _validate_alive(self) -> None:
        if self.phase is ClassicState.DEAD:
            text = f"Group {self.group_id} is in dead state."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, text)

    # Offsets

    def subscribed(self, topic: str) -> bool:
        """Return whether a member may read the topic. Consumers with unknown metadata
        may read any.
        """
        return self.protocol_type == CONSUMER if self.topics is None else topic in self.topics

    def offsets_kept_since(self, commit_ms: int) -> int | None:
        """See `Group`. While a group has members, offsets expire only in a stable group of
        consumers, for topics that no member reads.
        """
        if not self.protocol_type:
            return commit_ms
        if self.is_empty:
            return commit_ms if self.since_ms is None else self.since_ms
        known = self.protocol_type == CONSUMER and self.topics is not None
        return commit_ms if known and self.phase is ClassicState.STABLE else None

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(self.group_id))]

    # Inspection

    def described(self) -> Described:
        """Return the group for DescribeGroups."""
        protocol = self.protocol_name if self.phase is ClassicState.STABLE else None
        return Described(
            state=self.state,
            protocol_type=self.protocol_type,
            protocol_name=protocol or "",
            members=tuple(member.described(protocol) for member in self.membership),
        )

    def describe(self) -> Mapping[str, Any]:
        found: dict[str, Any] = {
            "state": self.state,
            "since_ms": self.since_ms,
            "generation": self.generation,
            "protocol": self.protocol_name,
            "leader": self.leader,
            "members": len(self.membership),
            "joined": self.membership.joined,
            "pending": len(self.membership.pending),
            "syncs_due": len(self.syncs_due),
        }
        for number, one in enumerate(reversed(self.rebalances), 1):  # newest first
            found[f"rebalance {number}"] = f"{one.at_ms}, after {one.generation}: {one.cause}"
        return found
