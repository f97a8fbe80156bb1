"""Submachine of consumer groups: replay, timers and new metadata.

Source: GroupMetadataManager of Apache Kafka 4.4.0.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.coordinators.groups.consumer import topic_regexes
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.classic_adapter import ClassicMemberAdapter
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.leaving import fence
from trio_kafka.coordinators.groups.consumer.member import MemberState
from trio_kafka.coordinators.groups.consumer.regex_search import Searches
from trio_kafka.coordinators.groups.consumer.replay import replays
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.transition import (
    JOIN,
    REBALANCE,
    REGEX,
    SESSION,
    SYNC,
    Transition,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.protocols import GroupType
from trio_kafka.coordinators.shards.effects import Effects, EventResult, Ticket, TimerKey
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.waits import Wait
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 1000  # groups: about 0.5 ms
_RETRY_MS: Final = 500  # before a member is fenced again whose records were refused
_logger: Final = get_logger(__name__)


class ConsumerGroups:
    """The submachine of consumer groups. state: what their events share."""

    group_type: Final[GroupType] = "consumer"

    def __init__(
        self, groups: Groups, searches: Searches, assignors: Assignors | None = None
    ) -> None:
        """searches: run the searches for regular expressions."""
        self.state = ConsumerShardState(groups, searches, assignors or Assignors())
        self.state.new_topics_version = groups.image.offset
        self.classic_adapter = ClassicMemberAdapter(self.state)
        self.replays = replays(self.state)
        self.timers = frozenset({SESSION, REBALANCE, JOIN, SYNC, REGEX})

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Start the timers of all members. Topics may have been created meanwhile."""
        state = self.state
        state.new_topics_version = state.image.offset
        effects = Effects()
        for group in tuple(state.groups.by_id.values()):
            if not isinstance(group, ConsumerGroup):
                continue
            transition = Transition.begin(state, group, now_ms)
            for member in group.by_id.values():
                transition.renew_session(member.member_id)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    transition.track_revocation(member)
                yield
            effects.join(transition.effects)
            yield
        return effects

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Steps[Effects]:
        """Have groups refresh changed topics with their next heartbeat."""
        del now_ms
        state = self.state
        if any(topic.created for topic in delta.topics.values()):
            state.new_topics_version = state.image.offset
        changed = {topic.name for topic in delta.topics.values()}
        changed.update(delta.deleted_topics.values())
        for topic in changed:
            state.hashes.pop(topic, None)
        for number, group in enumerate(tuple(state.groups.by_id.values()) if changed else (), 1):
            if isinstance(group, ConsumerGroup) and group.subscribes(changed):
                group.refresh_ms = group.refresh_epoch = 0
            if number % _A_STEP == 0:
                yield
        return Effects()

    def waits(self, group_id: str, ticket: Ticket, times: WaitTimes) -> tuple[Wait, ...]:
        """No request is kept: members learn of a new assignment by heartbeats."""
        del group_id, ticket, times
        return ()

    def timer(self, key: TimerKey, now_ms: int) -> EventResult:
        """Handle a timer that is due."""
        state = self.state
        group = state.groups.by_id.get(str(key[1]))
        epoch = state.revoking.pop(key, None)
        state.joining.discard(key)
        if not isinstance(group, ConsumerGroup):
            state.searches.pop(str(key[1]), None)
            return Effects()  # deleted, converted or never written
        transition = Transition.begin(state, group, now_ms)
        if key[0] == REGEX:
            return topic_regexes.start(transition)
        member_id = str(key[2])
        if key[0] == REBALANCE:
            member = group.by_id.get(member_id)
            if member is None or member.epoch != epoch:
                return Effects()  # it has moved on
        return _again_if_refused(key, fence(transition, member_id, _REASONS[str(key[0])]))


_REASONS: Final = {
    SESSION: "its session expired",
    REBALANCE: "it did not revoke its partitions in time",
    JOIN: "the classic member failed to join within the rebalance timeout",
    SYNC: "the member failed to sync within timeout",
}


def _again_if_refused(key: TimerKey, event: EventResult) -> Steps[Effects]:
    """Return the effects; if their records are refused, try again later."""
    effects = event if isinstance(event, Effects) else (yield from event)
    before: Callable[[KafkaError, int], Effects] | None = effects.refused

    def refused(error: KafkaError, now_ms: int) -> Effects:
        _logger.warning("member not fenced: records refused", group=key[1], member=key[2])
        later = Effects() if before is None else before(error, now_ms)
        return later.set_timer((SESSION, *key[1:]), _RETRY_MS)

    if effects.records:
        effects.refused = refused
    return effects
