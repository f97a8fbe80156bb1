"""What all groups have in common: the protocols by which the machine of a shard knows them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias

from trio_kafka.coordinators.effects import CoordinatorRecord, Effects, TimerKey
from trio_kafka.coordinators.groups.offset_values import TopicOffsets
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.introspect.tree import Figures
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.scheduling.chunked_work import Steps

GroupType: TypeAlias = Literal["classic", "consumer", "share", "streams"]
# Called with key and value; None is a tombstone.
Replay: TypeAlias = Callable[[Any, Any], None]


class SeenMember(Protocol):
    """A member, for whoever looks."""

    @property
    def member_id(self) -> str: ...

    def figures(self) -> Figures: ...


class Group(Protocol):
    """One group: a classic one, also where it only has offsets, or a consumer group."""

    @property
    def group_id(self) -> str: ...

    @property
    def type(self) -> GroupType: ...

    @property
    def state(self) -> str:
        """As Kafka's tools show it: `Stable`, `PreparingRebalance`, `Empty`, ..."""

    @property
    def protocol_type(self) -> str:
        """`consumer`, or what else the members said; empty where nobody has said it."""

    @property
    def is_empty(self) -> bool:
        """It has no members."""

    def members(self) -> Sequence[SeenMember]:
        """For whoever looks: in the order in which they came."""

    def validate_commit(
        self,
        member_id: str,
        instance_id: str | None,
        epoch: int,
        version: int,
        topics: Sequence[TopicOffsets],
    ) -> Effects:
        """Check who commits, as it says; the effects are those that a sign of life has (timers
        only): a commit keeps the session of a classic member alive.

        epoch: the generation, or the member's epoch; negative: it is no member. version: of
        OffsetCommit. topics: what it commits, where that matters to an old epoch.
        Raises KafkaError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID, ILLEGAL_GENERATION,
        REBALANCE_IN_PROGRESS, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION.
        """

    def validate_fetch(self, member_id: str | None, epoch: int) -> None:
        """Check who fetches offsets, where it says who it is. KafkaError: UNKNOWN_MEMBER_ID,
        STALE_MEMBER_EPOCH.
        """

    def validate_offset_delete(self) -> None:
        """Raises KafkaError(NON_EMPTY_GROUP) where no offset may be deleted, whatever the topic."""

    def validate_delete(self) -> None:
        """Raises KafkaError where the group may not be deleted: NON_EMPTY_GROUP,
        GROUP_ID_NOT_FOUND.
        """

    def subscribed(self, topic: str) -> bool:
        """Whether a member reads it, as far as known: its offsets are neither deleted nor
        expired.
        """

    def offsets_kept_since(self, commit_ms: int) -> int | None:
        """When the retention of an offset of `commit_ms` begins; None while it is not to expire.

        That is when the group became empty, if it has had members, else the commit itself.
        """

    def tombstones(self) -> list[CoordinatorRecord]:
        """What deletes the group, without its offsets."""

    def describe(self) -> Mapping[str, Any]:
        """For introspection: figures by name."""


class GroupTable(Protocol):
    """The groups of a shard, as their submachines need them."""

    by_id: dict[str, Group]
    settings: GroupSettings

    def known(self, group_id: str) -> Group:
        """Return the group; make one that only has offsets if there is none."""


class Submachine(Protocol):
    """The part of a shard's machine that serves one type of groups, or the offsets.

    group_type: None for the offsets. replays: by class of key. timers: first parts of timer keys.
    classic_adapter: for members that speak the classic protocol in groups of another type, see
        `classic.requests.ClassicAdapter`.
    """

    classic_adapter: Any
    replays: Mapping[type[Any], Replay]
    timers: frozenset[str]

    @property
    def group_type(self) -> GroupType | None: ...

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """All is replayed: timers of members begin anew."""

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Effects | Steps[Effects]:
        """`groups.image` is the new one already."""

    def timer(self, key: TimerKey, now_ms: int) -> Effects | Steps[Effects]:
        """A timer that was set is due."""
