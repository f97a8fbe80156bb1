"""Member of a consumer group by KIP-848: heartbeats, and the assignment that they bring. No I/O.

Theory of operation. A heartbeat says only what has changed since the last one that was answered;
after a failure it says everything again. A new assignment is reconciled by the reader's task,
between two reads: it revokes, then calls `acknowledge`, and the next heartbeat is due at once.
A member that is fenced has lost all partitions: `is_lost` is set until the reader has let them go,
and it joins again with epoch 0. The member chooses its id itself, so that a join whose answer is
lost leaves no other member behind (KIP-1082).
Source: ConsumerMembershipManager and ConsumerHeartbeatRequestManager of Apache Kafka 4.4.0.
"""

from collections.abc import Mapping
from enum import Enum
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.errors import (
    ClientError,
    RetriableError,
    client_error,
    error_of,
)
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k68_consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from trio_kafka.protocol.structs.cluster import TopicPartitions

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
LEAVE_STATIC_EPOCH: Final = -2
Owned = Mapping[bytes, frozenset[int]]
_NOTHING: Final[Owned] = {}
_LOST: Final = frozenset({ErrorCode.FENCED_MEMBER_EPOCH, ErrorCode.UNKNOWN_MEMBER_ID})
_PASSING: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
    }
)


class MemberState(Enum):
    """State of the membership."""

    IDLE = "not subscribed"
    JOINING = "joining"
    STABLE = "stable"
    RECONCILING = "reconciling"
    ACKNOWLEDGING = "acknowledging"
    LEFT = "left"
    FAILED = "failed"


@frozen(kw_only=True)
class GroupTerms:
    """Settings of a membership that do not change. assignor: None: the broker's choice."""

    group: str
    instance_id: str | None = None
    rack: str | None = None
    rebalance_timeout_ms: int = 300_000
    assignor: str | None = None


@define(eq=False, kw_only=True)
class ConsumerMember:
    """Membership in one group.

    owned: partitions by topic id, as the coordinator was or will be told. target: those assigned,
    None: as owned. due: time of the next heartbeat. is_lost: all partitions are lost.
    interval_s: between heartbeats, as the coordinator has said. failure: ends the membership.
    """

    terms: GroupTerms
    member_id: str
    backoff: Backoff
    epoch: int = JOIN_EPOCH
    state: MemberState = MemberState.IDLE
    names: tuple[str, ...] | None = None
    pattern: str | None = None
    owned: Owned = _NOTHING
    target: Owned | None = None
    due: float = float("inf")
    interval_s: float = 3.0
    is_lost: bool = False
    failure: ClientError | None = None
    failures: int = 0
    _in_flight: bool = False
    _may_have_joined: bool = False
    _is_urgent: bool = False
    _said: dict[str, object] = field(factory=dict)

    def subscribe(self, names: tuple[str, ...] | None, pattern: str | None, now: float) -> None:
        """Join, or change the subscription. names, pattern: one of them."""
        self.names, self.pattern = names, pattern
        if self.state in _SILENT:
            self.failure = None
            self.rejoin(now)
        else:
            self._hurry(now)

    def rejoin(self, now: float) -> None:
        """Join, as a new member in the eyes of the coordinator."""
        self.state, self.epoch, self.target = MemberState.JOINING, JOIN_EPOCH, None
        self.owned = _NOTHING
        self._said.clear()
        self._hurry(now)

    # --- heartbeats

    def request(self, now: float) -> ConsumerGroupHeartbeatRequest | None:
        """Return the heartbeat to send now; None: it is not due, or one is in flight."""
        if self._in_flight or self.due > now or self.is_lost or self.state in _SILENT:
            return None
        self._in_flight, self._is_urgent = True, False
        terms = self.terms
        fields: dict[str, object] = {
            "rebalance_timeout_ms": terms.rebalance_timeout_ms,
            "subscribed_topic_names": None if self.names is None else list(self.names),
            "subscribed_topic_regex": self.pattern,
            "server_assignor": terms.assignor,
            "rack_id": terms.rack,
            "topic_partitions": self._owned_rows(),
        }
        request = ConsumerGroupHeartbeatRequest(
            group_id=terms.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=terms.instance_id,
        )
        for name, value in fields.items():
            if name not in self._said or self._said[name] != value:
                setattr(request, name, value)
        self._said = fields
        if self.state is MemberState.ACKNOWLEDGING:
            self.state = MemberState.STABLE
        return request

    def leave_request(self) -> ConsumerGroupHeartbeatRequest | None:
        """Return the heartbeat that leaves the group; None: the group does not know the member."""
        was_joined = self.epoch > 0 or self.state is MemberState.JOINING
        is_over = self.state in _SILENT
        self.state, self.due = MemberState.LEFT, float("inf")
        if is_over or not was_joined:
            return None
        static = self.terms.instance_id is not None
        self.epoch = LEAVE_STATIC_EPOCH if static else LEAVE_EPOCH
        return ConsumerGroupHeartbeatRequest(
            group_id=self.terms.group,
            member_id=self.member_id,
            member_epoch=self.epoch,
            instance_id=self.terms.instance_id,
        )

    # --- answers

    def answered(self, response: ConsumerGroupHeartbeatResponse, now: float) -> None:
        """Take the answer to the heartbeat in flight."""
        self._in_flight = False
        if self.state in _SILENT:
            return
        code = error_of(response.error_code)
        if code:
            self._rejected(code, response.error_message, now)
            return
        self.failures, self._may_have_joined = 0, False
        self.interval_s = max(response.heartbeat_interval_ms, 1) / 1000
        self.epoch = response.member_epoch
        self.due = now if self._is_urgent else now + self.interval_s
        if self.state is MemberState.JOINING:
            self.state = MemberState.STABLE
        if response.assignment is not None:
            self.target = {
                row.topic_id: frozenset(row.partitions)
                for row in response.assignment.topic_partitions
                if row.partitions
            }
            if self.target == self.owned:
                self.acknowledge(self.target, now)
            else:
                self.state = MemberState.RECONCILING

    def withdrawn(self) -> None:
        """Note that the answer to the heartbeat in flight is not waited for, as the member left."""
        self._in_flight = False

    def unanswered(self, error: ClientError, now: float) -> None:
        """Note a heartbeat that got no answer."""
        self._in_flight = False
        if self.state in _SILENT:
            return  # it has left meanwhile: nothing is due any more
        if not isinstance(error, RetriableError):
            self._fail(error)
            return
        self._said.clear()
        self._may_have_joined |= self.state is MemberState.JOINING and error.sent
        if self.state is MemberState.STABLE and self.target is not None:
            self.state = MemberState.RECONCILING
        self._back_off(now)

    def acknowledge(self, owned: Owned, now: float) -> None:
        """Note what the member owns now; the next heartbeat says so."""
        self.owned = owned
        if self.target is not None and self.target == owned:
            self.target = None
            self.state = MemberState.ACKNOWLEDGING
        self._hurry(now)

    def let_go(self, now: float) -> None:
        """Note that the reader has let all lost partitions go: join again."""
        self.is_lost = False
        if self.state is not MemberState.FAILED:
            self.rejoin(now)

    def _rejected(self, code: ErrorCode, message: str | None, now: float) -> None:
        if code in _LOST:
            self.owned, self.target = _NOTHING, None
            self.epoch = JOIN_EPOCH
            self.is_lost = True
        elif code in _PASSING or code.retriable or self._is_own_instance(code):
            self._said.clear()
            self._back_off(now)
        else:
            self._fail(client_error(code, _text(self.terms.group, message)))

    def _is_own_instance(self, code: ErrorCode) -> bool:
        """Return whether a join without an answer may have taken the instance id.

        The coordinator does not take it for the same member; it lets the id go with the session.
        """
        return code is ErrorCode.UNRELEASED_INSTANCE_ID and self._may_have_joined

    def _fail(self, error: ClientError) -> None:
        self.failure = error
        self.state = MemberState.FAILED
        self.due = float("inf")
        self.owned, self.target = _NOTHING, None
        self.is_lost = True

    def _hurry(self, now: float) -> None:
        self.due = now
        self._is_urgent = True

    def _back_off(self, now: float) -> None:
        self.failures += 1
        self.due = now + self.backoff.pause_s(self.failures, 0.5)

    def _owned_rows(self) -> list[TopicPartitions]:
        return [
            TopicPartitions(topic_id=topic_id, partitions=sorted(partitions))
            for topic_id, partitions in sorted(self.owned.items())
        ]


_SILENT: Final = frozenset({MemberState.IDLE, MemberState.LEFT, MemberState.FAILED})


def _text(group: str, message: str | None) -> str:
    return f"group {group!r}: {message or 'the coordinator rejects the member'}"
