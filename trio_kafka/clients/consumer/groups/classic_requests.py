"""Requests of a member of a classic group, and what their errors mean. Does no I/O."""

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.groups.assignors.named import Assignor
from trio_kafka.clients.consumer.groups.assignors.racks import Racks
from trio_kafka.clients.consumer.groups.assignors.values import (
    Assignments,
    Counts,
    Members,
    MemberSubscription,
)
from trio_kafka.clients.consumer.groups.embedded import (
    read_subscription,
    write_assignment,
    write_subscription,
)
from trio_kafka.clients.errors import ClientError, client_error
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.errors import DecodeError
from trio_kafka.protocol.messages.k11_join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from trio_kafka.protocol.messages.k12_heartbeat import HeartbeatRequest
from trio_kafka.protocol.messages.k13_leave_group import LeaveGroupRequest, MemberIdentity
from trio_kafka.protocol.messages.k14_sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
)
from trio_kafka.scheduling.chunked_work import Steps

PROTOCOL_TYPE: Final = "consumer"
NO_GENERATION: Final = -1
SINGLE_LEAVE: Final = 2  # of LeaveGroup; Kafka 2.4 and later serve newer ones


class JoinState(Enum):
    """State of the membership. PREPARING, ASSIGNED: the reader has its turn."""

    IDLE = "not subscribed"
    PREPARING = "preparing a rebalance"
    JOINING = "joining"
    ASSIGNED = "assigned"
    STABLE = "stable"
    LEFT = "left"
    FAILED = "failed"


@define(eq=False, kw_only=True)
class ClassicMember:
    """Membership in a classic group, as far as requests say it.

    before: partitions owned until the member joined, for the sticky assignor.
    again: join again after the present rebalance. is_lost: all partitions are lost.
    """

    group: str
    instance_id: str | None
    rack: str | None
    session_timeout_ms: int
    rebalance_timeout_ms: int
    assignors: Sequence[Assignor]
    state: JoinState = JoinState.IDLE
    member_id: str = ""
    generation: int = NO_GENERATION
    assignment: frozenset[TopicPartition] = frozenset()
    before: frozenset[TopicPartition] = frozenset()
    again: bool = False
    is_lost: bool = False
    failure: ClientError | None = field(default=None, init=False)

    @property
    def is_cooperative(self) -> bool:
        """True if every assignor lets members keep what they own while they join."""
        return all(assignor.is_cooperative for assignor in self.assignors)

    def is_joining(self) -> bool:
        """True if answers to JoinGroup and SyncGroup still count."""
        return self.state is JoinState.JOINING

    # --- requests

    def join_request(
        self, topics: Sequence[str], owned: frozenset[TopicPartition]
    ) -> JoinGroupRequest:
        """Return the request to join. owned: partitions that are kept meanwhile."""
        metadata = write_subscription(
            topics,
            owned=owned,
            before=self.before,
            generation=self.generation,
            rack=self.rack,
        )
        return JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self.session_timeout_ms,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocols=[
                JoinGroupRequestProtocol(assignor.name, metadata) for assignor in self.assignors
            ],
        )

    def sync_request(
        self, joined: JoinGroupResponse, assignments: Mapping[str, Sequence[TopicPartition]]
    ) -> SyncGroupRequest:
        """Return the request for the assignment. assignments: of all, from the leader."""
        return SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
            protocol_type=PROTOCOL_TYPE,
            protocol_name=joined.protocol_name,
            assignments=[
                SyncGroupRequestAssignment(member, write_assignment(partitions))
                for member, partitions in assignments.items()
            ],
        )

    def heartbeat_request(self) -> HeartbeatRequest:
        """Return a heartbeat."""
        return HeartbeatRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            group_instance_id=self.instance_id,
        )

    def leave_request(self, reason: str) -> LeaveGroupRequest | None:
        """Return the request to leave; None: static members, and those without an id, do not.

        reason: for the log of the broker (KIP-800).
        """
        if not self.member_id or self.instance_id is not None:
            return None
        member = MemberIdentity(self.member_id, reason=reason)
        return LeaveGroupRequest(group_id=self.group, members=[member])

    # --- answers

    def assign(
        self, protocol: str | None, counts: Counts, members: Members, racks: Racks
    ) -> Steps[Assignments]:
        """Return the assignments of all members, in steps, as their leader. Raises ClientError."""
        for assignor in self.assignors:
            if assignor.name == protocol:
                return assignor.assign(counts, members, racks)
        raise ClientError(f"the coordinator has chosen {protocol!r}, which was not offered")

    def rejected(self, code: ErrorCode) -> bool:
        """Take an error; return whether a pause must come before the next attempt."""
        if code is ErrorCode.REBALANCE_IN_PROGRESS:
            self.rebalances()
            return False
        if code in _FORGOTTEN:
            if code is ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self.lose()
            return False
        if not code.retriable:
            self.fail(client_error(code, f"group {self.group!r}: the coordinator's answer"))
        return True

    def rebalances(self) -> None:
        """Note that the group rebalances: this member must join again."""
        if self.state is JoinState.STABLE:
            self.state = JoinState.PREPARING
        elif self.state is JoinState.ASSIGNED:
            self.again = True

    def lose(self) -> None:
        """Note that the group has given all partitions away; the reader lets them go."""
        self.generation, self.assignment = NO_GENERATION, frozenset()
        self.is_lost, self.again = True, False
        self.before = frozenset()
        self.state = JoinState.JOINING

    def fail(self, error: ClientError) -> None:
        """End the membership for good."""
        self.lose()
        self.failure = error
        self.state = JoinState.FAILED


def older_leave(request: LeaveGroupRequest) -> LeaveGroupRequest:
    """Return a request to leave for versions up to `SINGLE_LEAVE`, which have one member."""
    return LeaveGroupRequest(group_id=request.group_id, member_id=request.members[0].member_id)


def subscriptions(joined: JoinGroupResponse) -> Members:
    """Return the subscriptions of all members; one that cannot be read has no topics."""
    members = []
    for row in joined.members:
        try:
            member = read_subscription(row.member_id, row.group_instance_id, row.metadata)
        except DecodeError:
            member = MemberSubscription(member_id=row.member_id, topics=frozenset())
        members.append(member)
    return members


_FORGOTTEN: Final = frozenset({ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION})
