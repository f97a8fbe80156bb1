"""Changes of one event to one consumer group: the effects collected so far."""

from typing import Final, Self

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer import records
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.member import Member, MemberState
from trio_kafka.coordinators.groups.consumer.metadata_hash import metadata_hash
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.subscriptions import Counts
from trio_kafka.coordinators.groups.history import ChangeKind
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import CoordinatorRecord, Effects, SetTimer, TimerKey
from trio_kafka.introspect.log import get_logger
from trio_kafka.scheduling.chunked_work import Steps

SESSION: Final = "consumer-session"  # a member sends no heartbeat
REBALANCE: Final = "consumer-rebalance"  # a member does not revoke
JOIN: Final = "consumer-join"  # a classic member does not join again
SYNC: Final = "consumer-sync"  # a classic member joins and does not sync
REGEX: Final = "consumer-regex"  # a search for regular expressions may start
_REFRESH_MS: Final = 2**31 - 1  # topics are refreshed when they change; this is the fallback
_logger: Final = get_logger(__name__)


@define(eq=False)
class Transition:
    """The group, its settings, the time and the effects. upgraded: the classic group that this one
    replaces.
    """

    state: ConsumerShardState
    group: ConsumerGroup
    settings: GroupSettings
    now_ms: int
    effects: Effects = field(factory=Effects)
    upgraded: ClassicGroup | None = None

    @classmethod
    def begin(cls, state: ConsumerShardState, group: ConsumerGroup, now_ms: int) -> Self:
        """Return the transition of an event that begins now."""
        return cls(state, group, state.settings_of(group.group_id), now_ms)

    def write(self, *records: CoordinatorRecord) -> None:
        self.effects.records += records

    def metadata_hash(self, topics: Counts) -> Steps[int]:
        """Return the hash of the subscribed topics as they are now."""
        return metadata_hash(topics, self.state.image, self.state.hashes)

    def bump(self, metadata_hash: int, cause: str, client_id: str = "") -> int:
        """Increase the group's epoch, so that its members are assigned again; return it.

        client_id: client whose member causes it; empty: no member does.
        """
        group, epoch = self.group, self.group.epoch + 1
        history = self.state.history_of(group.group_id)
        history.add_rebalance(self.now_ms, group.epoch, cause, client_id=client_id)
        self.write(records.group_epoch(group.group_id, epoch, metadata_hash))
        _logger.info(
            "group epoch increased",
            group=group.group_id,
            epoch=epoch,
            hash=metadata_hash,
            cause=cause,
        )
        return epoch

    def note(self, client_id: str, kind: ChangeKind) -> None:
        """Note in the group's history that a member of this client joins or leaves."""
        self.state.history_of(self.group.group_id).add_change(self.now_ms, client_id, kind)

    def refreshed(self, epoch: int) -> None:
        """Note that the topics were refreshed for this epoch."""
        self.group.refresh_ms = self.now_ms + _REFRESH_MS
        self.group.refresh_epoch = epoch

    # Timers

    def key(self, name: str, member_id: str) -> TimerKey:
        return (name, self.group.group_id, member_id)

    def renew_session(self, member_id: str, timeout_ms: int | None = None) -> None:
        """Start the member's session again."""
        delay_ms = self.settings.consumer_session_timeout_ms if timeout_ms is None else timeout_ms
        self.effects.timers.append(SetTimer((SESSION, self.group.group_id, member_id), delay_ms))

    def track_revocation(self, member: Member) -> None:
        """Set the rebalance timer of a member that must revoke partitions; cancel it otherwise."""
        key = self.key(REBALANCE, member.member_id)
        if member.state is MemberState.UNREVOKED_PARTITIONS:
            self.state.revoking[key] = member.epoch
            self.effects.set_timer(key, member.rebalance_timeout_ms)
        elif self.state.revoking.pop(key, None) is not None:
            self.effects.cancel_timer(key)

    def await_join(self, member: Member) -> None:
        """Set the join timer of a classic member that must join again, unless it is set."""
        key = self.key(JOIN, member.member_id)
        if key not in self.state.joining:
            self.state.joining.add(key)
            self.effects.set_timer(key, member.rebalance_timeout_ms)

    def joined(self, member_id: str) -> None:
        """Cancel the join timer."""
        key = self.key(JOIN, member_id)
        self.state.joining.discard(key)
        self.effects.cancel_timer(key)

    def cancel_timers(self, member_id: str) -> None:
        """Cancel all timers of the member."""
        self.joined(member_id)
        self.state.revoking.pop(self.key(REBALANCE, member_id), None)
        for name in (SESSION, REBALANCE, SYNC):
            self.effects.cancel_timer(self.key(name, member_id))
