"""Classic group: its state, its members and the checks of requests.

How it works. `states` has the table of states. A change of members (`rebalance.prepare`) makes all
members join: their JoinGroups wait as tickets on the members. When all have joined, or the time is
over, the next generation begins (`rebalance.complete`): members that have not joined are removed,
and the joins are answered, that of the leader with all members. SyncGroups wait until the leader
has sent assignments and their record is committed (`syncing`); then the group is stable. Each
member has a timer, which its heartbeats, commits and answers renew (`session`). Pending requests,
all supported protocols and the generation that is being prepared are in no record. So a group's own
records are replayed only while it is loaded. Source: ClassicGroup of Apache Kafka 4.4.0.
"""

from collections.abc import Sequence
from typing import Final

from attrs import Factory, field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.classic.membership import Member, Membership
from trio_kafka.coordinators.groups.classic.states import (
    REFUSALS,
    TRANSITIONS,
    WITH_GENERATION,
    ClassicState,
    GroupEvent,
    MemberRequest,
)
from trio_kafka.coordinators.groups.classic.values import (
    GroupDescription,
    GroupProtocol,
    JoinedMember,
)
from trio_kafka.coordinators.groups.history import GroupHistory
from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.coordinators.groups.protocols import GroupType
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, SetTimer, TimerKey
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.protocol.stored.groups.classic import GroupMetadataKey

CONSUMER: Final = "consumer"  # the protocol type of consumers
SESSION: Final = "classic-session"  # removes a member or a pending id
JOIN: Final = "classic-join"  # ends the wait for joins
SYNC: Final = "classic-sync"  # ends the wait for syncs


@frozen
class InitialDelay:
    """Wait of an empty group's first rebalance for more members, and by how much it may be
    extended, in ms.
    """

    delay_ms: int
    left_ms: int


@define(eq=False, kw_only=True)
class ClassicGroup:
    """phase, before: the state and the one before it. since_ms: when the state was entered; None in
    records of old brokers. leader: id of the member that assigns.

    syncs_due: members that joined this generation and have not synced yet.
    topics: topics that the members subscribe to; None if their metadata are of an unknown protocol.
    newcomers: members joined during the initial delay. join_timer, sync_timer: keys.
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
    history: GroupHistory = field(factory=GroupHistory)
    join_timer: TimerKey = field(
        default=Factory(lambda self: (JOIN, self.group_id), takes_self=True), init=False
    )
    sync_timer: TimerKey = field(
        default=Factory(lambda self: (SYNC, self.group_id), takes_self=True), init=False
    )

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

    def timers(self) -> list[TimerKey]:
        """Keys of all timers that may be set."""
        ids = [*self.membership.pending, *(member.member_id for member in self.membership)]
        return [self.join_timer, self.sync_timer, *map(self.session_timer, ids)]

    # Changes

    def change_state(self, event: GroupEvent, now_ms: int) -> None:
        """Enter the state after an event. Raises InvariantError if it cannot happen now."""
        state = TRANSITIONS.get((self.phase, event))
        if state is None:
            text = f"group {self.group_id}: event {event.name} in state {self.state}"
            raise InvariantError(text)
        self.before, self.phase, self.since_ms = self.phase, state, now_ms

    def add(self, member: Member) -> None:
        """Add a member. The first one leads, and sets the group's protocol type."""
        if not self.membership.by_id:
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
            member = membership.by_id.get(member_id)
            return member is not None and member.join_ticket is not None
        if phase in WITH_GENERATION:
            return len(membership) < max_size or member_id in membership
        return True

    def leads(self, member_id: str) -> bool:
        return self.leader == member_id

    def joined_members(self) -> tuple[JoinedMember, ...]:
        """Return all members, as the leader sees them."""
        protocol = self.protocol_name
        members = self.membership.by_id.values()
        return tuple(
            [
                JoinedMember(member.member_id, member.instance_id, member.metadata(protocol))
                for member in members
            ]
        )

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
        member = self.membership.by_id.get(member_id)
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
        refusal = REFUSALS.get((MemberRequest.COMMIT, self.phase))
        if refusal is not None:
            raise KafkaError(refusal)
        timer = SetTimer((SESSION, self.group_id, member_id), member.session_timeout_ms)
        return Effects([], [], [timer])

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int, topics: Sequence[TopicOffsets]
    ) -> None:
        """See `Group`. Does not renew the session."""
        del topics
        if self.phase is ClassicState.DEAD:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if epoch < 0 and (
            self.phase is ClassicState.EMPTY or (not member_id and instance_id is None)
        ):
            return
        self.validate_member(member_id, instance_id)
        self.validate_generation(epoch)

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
        knows_topics = self.protocol_type == CONSUMER and self.topics is not None
        return commit_ms if knows_topics and self.phase is ClassicState.STABLE else None

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(GroupMetadataKey(self.group_id))]

    # Inspection

    def description(self) -> GroupDescription:
        """Return the group for DescribeGroups."""
        protocol = self.protocol_name if self.phase is ClassicState.STABLE else None
        return GroupDescription(
            state=self.state,
            protocol_type=self.protocol_type,
            protocol_name=protocol or "",
            members=tuple(member.description(protocol) for member in self.membership),
        )

    def describe(self) -> Figures:
        figures: dict[str, int | str | None] = {
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
        for number, rebalance in enumerate(reversed(self.history.rebalances), 1):  # newest first
            text = f"{rebalance.at_ms}, after {rebalance.generation}: {rebalance.cause}"
            figures[f"rebalance {number}"] = text
        return figures
