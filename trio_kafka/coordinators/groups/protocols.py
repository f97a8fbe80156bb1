"""Interfaces of groups and of the submachines that serve them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import (
    CoordinatorRecord,
    Effects,
    EventResult,
    Ticket,
    TimerKey,
)
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.introspect.tree import Figures
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.scheduling.chunked_work import Steps

GroupType: TypeAlias = Literal["classic", "consumer", "share", "streams"]
# Called with key and value; None is a tombstone.
Replay: TypeAlias = Callable[[Any, Any], None]


class MemberView(Protocol):
    """A member, for inspection."""

    @property
    def member_id(self) -> str: ...

    def figures(self) -> Figures: ...


class Group(Protocol):
    """One group: a classic group, also if it only has offsets, or a consumer group."""

    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state(self) -> str:
        """State as Kafka's tools print it: `Stable`, `PreparingRebalance`, `Empty`, …"""

    @property
    def protocol_type(self) -> str:
        """`consumer`, or another type that the members named; empty if there was never a member."""

    @property
    def is_empty(self) -> bool:
        """True if the group has no members."""

    def members(self) -> Sequence[MemberView]:
        """Return the members, for inspection, in the order in which they joined."""

    def validate_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        version: int,
        topics: Sequence[TopicOffsets],
    ) -> Effects:
        """Check the client that commits. Return the timers that its sign of life sets: a commit
        keeps the session of a classic member alive.

        epoch: generation or member epoch; negative for a client that is no member. version: of
        OffsetCommit. topics: what it commits, for the check of an old epoch.
        Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
        REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
        """

    def validate_transactional_commit(
        self, member_id: str, instance_id: str | None, epoch: int, topics: Sequence[TopicOffsets]
    ) -> None:
        """Check the client that commits in a transaction. Clients before TxnOffsetCommit 3 name
        neither member nor epoch, which is allowed.

        Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
        STALE_MEMBER_EPOCH.
        """

    def validate_fetch(self, member_id: str | None, epoch: int) -> None:
        """Check the client that fetches offsets, if it names itself. Raises KafkaError:
        UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """

    def validate_offset_delete(self) -> None:
        """Raise KafkaError(NON_EMPTY_GROUP) if no offset may be deleted, of whatever topic."""

    def validate_delete(self) -> None:
        """Raise KafkaError if the group may not be deleted: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND."""

    def subscribed(self, topic: str) -> bool:
        """Return whether a member may read the topic. Offsets of such a topic neither expire nor
        can be deleted.
        """

    def offsets_kept_since(self, commit_ms: int) -> int | None:
        """Return when the retention of an offset committed at `commit_ms` begins; None: it does not
        expire.

        The retention begins when the group became empty, or with the commit if it never had
        members.
        """

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the records that delete the group, without its offsets."""

    def describe(self) -> Figures:
        """Return figures by name, for inspection."""


class GroupTable(Protocol):
    """The groups of a shard, as their submachines need them."""

    by_id: dict[str, Group]
    settings: GroupSettings

    def group_or_simple(self, group_id: str) -> Group:
        """Return the group; make one that only has offsets if there is none."""


class Submachine(Protocol):
    """Part of a shard's machine that serves one type of groups, or the offsets.

    group_type: None for the offsets. replays: by class of key. timers: first parts of timer keys.
    classic_adapter: serves members of the classic protocol in groups of another type, see
    `classic.requests.ClassicAdapter`.
    """

    replays: Mapping[type, Replay]
    timers: frozenset[str]

    @property
    def group_type(self) -> GroupType | None: ...

    @property
    def classic_adapter(self) -> object | None: ...

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Handle the end of the load: sessions of members begin."""

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> EventResult:
        """Handle new metadata; `groups.image` is the new image already."""

    def timer(self, key: TimerKey, now_ms: int) -> EventResult:
        """Handle a timer that is due."""

    def waits(self, group_id: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """Return what a pending request of a member waits for; empty if none is kept."""
