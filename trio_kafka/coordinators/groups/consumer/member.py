"""Member of a consumer group: a value that records replace."""

from collections.abc import Mapping, Sequence
from enum import IntEnum
from operator import attrgetter
from typing import Any, Final, Self, TypeAlias

from attrs import evolve

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.groups.classic.values import GroupProtocol
from trio_kafka.coordinators.groups.consumer.assignors.spec import Partitions
from trio_kafka.coordinators.groups.consumer.values import LEAVE_EPOCH, SAME, Heartbeat
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.groups.consumer import (
    ConsumerGroupCurrentMemberAssignmentValue,
    ConsumerGroupMemberMetadataValue,
    CurrentTopicPartitions,
)

# Partitions by topic, with the epoch of their assignment. No empty mappings.
Owned: TypeAlias = Mapping[TopicId, Mapping[int, int]]
NOTHING: Final[Owned] = {}


class MemberState(IntEnum):
    """State of a member on its way to its target (int8 in records).

    UNREVOKED_PARTITIONS: it must revoke partitions first. UNRELEASED_PARTITIONS: other members have
    not released its partitions yet. UNKNOWN: written by a newer broker.
    """

    STABLE = 0
    UNREVOKED_PARTITIONS = 1
    UNRELEASED_PARTITIONS = 2
    UNKNOWN = 127

    @classmethod
    def _missing_(cls, value: object) -> "MemberState":
        del value
        return cls.UNKNOWN


_STATES: Final = {int(state): state for state in MemberState}


@frozen
class ClassicSide:
    """State of a member that speaks the classic protocol. session_timeout_ms: its own."""

    session_timeout_ms: int
    protocols: tuple[GroupProtocol, ...]


@define(eq=False)
class Member:
    """Never changed, see `CoordinatorRecord`.

    epoch: of the target that it has reached or is moving to. topics: names, sorted. regex: empty if
    it has none. assigned: partitions that it owns and keeps. revoking: partitions that it owns and
    must revoke. classic: None if it speaks KIP-848.
    """

    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    state: MemberState = MemberState.STABLE
    instance_id: str | None = None
    rack_id: str | None = None
    rebalance_timeout_ms: int = SAME
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    regex: str = ""
    assignor: str | None = None
    assigned: Owned = NOTHING
    revoking: Owned = NOTHING
    classic: ClassicSide | None = None

    def is_reconciled(self, epoch: int) -> bool:
        """Return whether the member has the target of this epoch."""
        return self.epoch == epoch and self.state is MemberState.STABLE

    def moved(self, state: MemberState, epoch: int, assigned: Owned, revoking: Owned) -> "Member":
        """Return the member with another state or assignment."""
        return self._at(state, epoch, self.epoch, assigned, revoking)

    def _at(
        self,
        state: MemberState,
        epoch: int,
        previous_epoch: int,
        assigned: Owned,
        revoking: Owned,
    ) -> "Member":
        """Return the member after a step. `evolve` would take twice as long."""
        return Member(
            member_id=self.member_id,
            epoch=epoch,
            previous_epoch=previous_epoch,
            state=state,
            instance_id=self.instance_id,
            rack_id=self.rack_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms,
            client_id=self.client_id,
            client_host=self.client_host,
            topics=self.topics,
            regex=self.regex,
            assignor=self.assignor,
            assigned=assigned,
            revoking=revoking,
            classic=self.classic,
        )

    def changed(self, **values: Any) -> "Member":
        """Return the member with these values; itself if it has them all."""
        same = attrgetter(*values)(self) == tuple(values.values())
        return self if same else evolve(self, **values)

    def with_heartbeat(self, request: Heartbeat) -> "Member":
        """Return the member with the contents of a heartbeat; itself if nothing is new."""
        sent = (
            request.client_id,
            request.client_host,
            request.instance_id or self.instance_id,
            None,
        )
        stored = (self.client_id, self.client_host, self.instance_id, self.classic)
        if request.is_bare and sent == stored:  # nearly always
            return self
        timeout_ms = request.rebalance_timeout_ms
        return self.changed(
            instance_id=self.instance_id if request.instance_id is None else request.instance_id,
            rack_id=self.rack_id if request.rack_id is None else request.rack_id,
            rebalance_timeout_ms=self.rebalance_timeout_ms if timeout_ms == SAME else timeout_ms,
            assignor=self.assignor if request.assignor is None else request.assignor,
            topics=self.topics if request.topics is None else _distinct(request.topics),
            regex=self.regex if request.regex is None else request.regex,
            client_id=request.client_id,
            client_host=request.client_host,
            classic=None,
        )

    def figures(self) -> Figures:
        """Figures for the tree."""
        return {
            "epoch": self.epoch,
            "state": self.state.name,
            "instance": self.instance_id,
            "client": self.client_id,
            "host": self.client_host,
            "rebalance_ms": self.rebalance_timeout_ms,
            "assignor": self.assignor,
            "topics": len(self.topics),
            "regex": self.regex,
            "partitions": sum(map(len, self.assigned.values())),
            "revoking": sum(map(len, self.revoking.values())),
            "classic": self.classic is not None,
        }

    # Replay

    def with_subscription(self, value: ConsumerGroupMemberMetadataValue) -> "Member":
        """Return the member with the identity and subscription of a record."""
        classic = value.classic_member_metadata
        return evolve(
            self,
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            topics=tuple(sorted(value.subscribed_topic_names)),
            regex=value.subscribed_topic_regex or "",
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            assignor=value.server_assignor,
            classic=None
            if classic is None
            else ClassicSide(
                classic.session_timeout_ms,
                tuple(
                    GroupProtocol(protocol.name, bytes(protocol.metadata))
                    for protocol in classic.supported_protocols
                ),
            ),
        )

    def with_assignment(self, value: ConsumerGroupCurrentMemberAssignmentValue) -> "Member":
        """Return the member with the assignment of a record."""
        epoch = value.member_epoch
        return self._at(
            _STATES.get(value.state, MemberState.UNKNOWN),
            epoch,
            value.previous_member_epoch,
            _owned(value.assigned_partitions, epoch),
            _owned(value.partitions_pending_revocation, epoch),
        )

    def left(self) -> "Member":
        """Return the member without assignment; the record that removes it follows."""
        return evolve(
            self,
            epoch=LEAVE_EPOCH,
            previous_epoch=LEAVE_EPOCH,
            assigned=NOTHING,
            revoking=NOTHING,
        )

    def renamed(self, member_id: str) -> Self:
        """Return a static member that came back with another id."""
        return evolve(self, member_id=member_id, epoch=0, previous_epoch=0)


def _distinct(topics: Sequence[str]) -> tuple[str, ...]:
    """Return the names in order, each once. A dict keeps an order that they have already, so that
    sorting takes no time.
    """
    return tuple(sorted(dict.fromkeys(topics)))


def partitions_of(owned: Owned) -> Partitions:
    """Return the partitions without epochs."""
    return {topic: frozenset(partitions) for topic, partitions in owned.items()}


def since(partitions: Partitions, epoch: int) -> Owned:
    """Return the partitions, all assigned at this epoch."""
    return {topic: dict.fromkeys(sorted(numbers), epoch) for topic, numbers in partitions.items()}


def same_partitions(first: Owned, other: Owned) -> bool:
    """Return whether both have the same partitions, at whatever epochs."""
    return first is other or (
        first.keys() == other.keys()
        and all(first[topic].keys() == other[topic].keys() for topic in first)
    )


def _owned(topics: Sequence[CurrentTopicPartitions], epoch: int) -> Owned:
    """Return the partitions of a record. Records before Kafka 4.3 have no epochs: the member's
    epoch is used.
    """
    if not topics:
        return NOTHING
    owned_partitions: dict[TopicId, Mapping[int, int]] = {}
    for topic in topics:
        epochs = topic.assignment_epochs
        if epochs is None or len(epochs) != len(topic.partitions):
            owned_partitions[TopicId(topic.topic_id)] = dict.fromkeys(
                topic.partitions, max(epoch, 0)
            )
        else:
            owned_partitions[TopicId(topic.topic_id)] = dict(
                zip(topic.partitions, epochs, strict=True)
            )
    return owned_partitions
