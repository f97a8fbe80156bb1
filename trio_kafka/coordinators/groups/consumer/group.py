"""Consumer group: its state, as its records say it, and queries of that state.

How it works. Members send heartbeats; each is one event (`heartbeat`), which only returns records.
The state changes when they are replayed. A change of members, subscriptions or topics increases the
group's epoch. The first heartbeat after that computes a target assignment for all members
(`target_assignment`); an assignor that takes long works in steps. Each later heartbeat moves its
member one step to the target (`reconciliation`): it revokes, confirms, then gets partitions that no
other member owns any more. `epochs` has the owners. The state that tools see is no field: it
follows from epochs and members (`state`). What is in no record, such as the time of the next
refresh, may be lost. Source: ModernGroup, ConsumerGroup of Apache Kafka 4.4.0.
"""

from collections.abc import Iterable, Sequence, Set
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer import records, validation
from trio_kafka.coordinators.groups.consumer.assignors.spec import NO_PARTITIONS, Partitions
from trio_kafka.coordinators.groups.consumer.member import Member, Owned
from trio_kafka.coordinators.groups.consumer.subscriptions import (
    Subscriptions,
    homogeneous,
)
from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.coordinators.groups.protocols import GroupType
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.model import TopicId

FIRST_EPOCH: Final = 1
DELETED_EPOCH: Final = -1  # of a target between its tombstone and the group's


@define(eq=False, kw_only=True)
class ConsumerGroup:
    """epoch: grows when subscriptions or topics change. assignment_epoch: of the targets.

    assigned_ms: when the targets were computed; 0 permits new ones at once. statics: member ids by
    instance id. targets: partitions that members must have. epochs: of the members that own
    partitions; a partition without one is free. refresh_ms: when topics are refreshed next, as of
    `refresh_epoch`.
    topic_id_of: id of a topic's name, if it exists.
    """

    group_id: str
    topic_id_of: validation.TopicIdOf
    epoch: int = FIRST_EPOCH
    metadata_hash: int = 0
    assignment_epoch: int = FIRST_EPOCH
    assigned_ms: int = 0
    by_id: dict[str, Member] = field(factory=dict)
    statics: dict[str, str] = field(factory=dict)
    subscriptions: Subscriptions = field(factory=Subscriptions)
    targets: dict[str, Partitions] = field(factory=dict)
    epochs: dict[TopicId, dict[int, int]] = field(factory=dict)
    has_subscription_metadata: bool = False
    refresh_ms: int = 0
    refresh_epoch: int = 0

    # Implementation of `Group`

    @property
    def type(self) -> GroupType:
        return "consumer"

    @property
    def protocol_type(self) -> str:
        return "consumer"

    @property
    def is_empty(self) -> bool:
        return not self.by_id

    @property
    def state(self) -> str:
        if not self.by_id:
            return "Empty"
        if self.epoch > self.assignment_epoch:
            return "Assigning"
        reached = self.assignment_epoch
        if all(member.is_reconciled(reached) for member in self.by_id.values()):
            return "Stable"
        return "Reconciling"

    def members(self) -> Sequence[Member]:
        return list(self.by_id.values())

    def validate_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        version: int,
        topics: Sequence[TopicOffsets],
    ) -> Effects:
        """See `Group`. A commit does not renew the session; heartbeats do."""
        del instance_id  # the member id identifies the client
        if epoch < 0 and self.is_empty:
            return Effects()
        member = self.member(member_id)
        validation.check_commit(member, epoch, version, topics, self.topic_id_of)
        return Effects()

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int, topics: Sequence[TopicOffsets]
    ) -> None:
        """See `Group`."""
        if epoch < 0 and (self.is_empty or (not member_id and instance_id is None)):
            return
        member = self.member(member_id)
        validation.check_commit_epoch(member, epoch, topics, self.topic_id_of)

    def validate_fetch(self, member_id: str | None, epoch: int) -> None:
        if member_id is None and epoch < 0:
            return
        validation.check_epoch(self.member(member_id or ""), epoch)

    def validate_offset_delete(self) -> None:
        """Allow it: only offsets of subscribed topics are kept."""

    def validate_delete(self) -> None:
        if self.by_id:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)

    def subscribed(self, topic: str) -> bool:
        return topic in self.subscriptions.topics

    def subscribes(self, topics: Set[str]) -> bool:
        """Return whether the group subscribes to any of these topics."""
        return not self.subscriptions.topics.keys().isdisjoint(topics)

    def offsets_kept_since(self, commit_ms: int) -> int | None:
        return commit_ms

    def tombstones(self) -> list[CoordinatorRecord]:
        return records.no_group(self.group_id, self.by_id, sorted(self.subscriptions.resolved))

    def describe(self) -> Figures:
        return {
            "type": self.type,
            "state": self.state,
            "epoch": self.epoch,
            "assignment epoch": self.assignment_epoch,
            "members": len(self.by_id),
            "classic members": self.classic,
            "topics": len(self.subscriptions.topics),
        }

    # Questions

    def member(self, member_id: str) -> Member:
        """Return a member. Raises KafkaError(UNKNOWN_MEMBER_ID)."""
        member = self.by_id.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID,
                f"Member {member_id} is not a member of group {self.group_id}.",
            )
        return member

    def static_member(self, instance_id: str | None) -> Member | None:
        """Return the member with this instance id."""
        member_id = None if instance_id is None else self.statics.get(instance_id)
        return None if member_id is None else self.by_id.get(member_id)

    def validated_member(self, member_id: str, instance_id: str | None) -> Member:
        """Return a member. Raises KafkaError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID if another
        member has the instance id.
        """
        if instance_id is None:
            return self.member(member_id)
        return validation.checked_static(self.static_member(instance_id), member_id, instance_id)

    def target_of(self, member: Member) -> Partitions:
        """Return a member's target; for a static member that comes back, the target of
        its old id.
        """
        member_id: str | None = member.member_id
        if member.instance_id is not None:
            member_id = self.statics.get(member.instance_id)
        return NO_PARTITIONS if member_id is None else self.targets.get(member_id, NO_PARTITIONS)

    def is_free(self, topic: TopicId, partition: int) -> bool:
        """Return whether no member owns the partition."""
        return partition not in self.epochs.get(topic, ())

    @property
    def is_homogeneous(self) -> bool:
        subscriptions = self.subscriptions
        return homogeneous(subscriptions.regexes, subscriptions.topics, len(self.by_id))

    def needs_refresh(self, now_ms: int) -> bool:
        """Return whether topics must be refreshed: it is time, or the epoch of the last refresh was
        not written.
        """
        return now_ms >= self.refresh_ms or self.epoch < self.refresh_epoch

    @property
    def classic(self) -> int:
        """Number of members that speak the classic protocol."""
        return sum(member.classic is not None for member in self.by_id.values())

    def all_classic_without(self, members: Iterable[Member]) -> bool:
        """Return whether all other members speak the classic protocol."""
        excluded = {member.member_id for member in members}
        others = (member for member in self.by_id.values() if member.member_id not in excluded)
        return all(member.classic is not None for member in others)

    def waits_for_others(self, member: Member) -> bool:
        """Return whether another member still owns a partition of the member's target."""
        for topic, numbers in self.targets.get(member.member_id, NO_PARTITIONS).items():
            has = member.assigned.get(topic, {})
            if any(number not in has and not self.is_free(topic, number) for number in numbers):
                return True
        return False

    # Replay

    def put(self, member: Member) -> None:
        """Take over a member from a record."""
        before = self.by_id.get(member.member_id)
        self.by_id[member.member_id] = member
        if before is not None:
            self._disown(before)
        self._own(member.assigned, member.epoch)
        self._own(member.revoking, member.epoch)
        # Most records change the assignment alone.
        if before is None or before.topics is not member.topics or before.regex is not member.regex:
            self.subscriptions.replace(before, member)
        if member.instance_id is not None:
            self.statics[member.instance_id] = member.member_id

    def drop(self, member_id: str) -> None:
        """Remove a member."""
        member = self.by_id.pop(member_id)
        self._disown(member)
        self.subscriptions.replace(member, None)
        if member.instance_id is not None and self.statics.get(member.instance_id) == member_id:
            del self.statics[member.instance_id]

    def _own(self, owned: Owned, epoch: int) -> None:
        """Note the newest owner: a log that is being compacted may hold older records later."""
        for topic, numbers in owned.items():
            epochs = self.epochs.get(topic)
            if epochs is None:
                epochs = self.epochs[topic] = {}
            if epochs.keys().isdisjoint(numbers):  # nearly always
                epochs.update(dict.fromkeys(numbers, epoch))
                continue
            for number in numbers:
                if epochs.get(number, epoch) <= epoch:
                    epochs[number] = epoch

    def _disown(self, member: Member) -> None:
        epoch = member.epoch
        for owned in (member.assigned, member.revoking):
            for topic, numbers in owned.items():
                epochs = self.epochs.get(topic, {})
                for number in numbers:
                    if epochs.get(number) == epoch:
                        del epochs[number]
                if not epochs:
                    self.epochs.pop(topic, None)
