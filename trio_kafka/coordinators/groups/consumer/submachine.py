"""Consumer groups as a kind: those of one shard, what their records say, whose time has come.

Source: GroupMetadataManager of Apache Kafka 4.4.0.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, Self

from trio_kafka.coordinators.effects import Effects, TimerKey
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.consumer import topic_regexes
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.classic_adapter import Door
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.leaving import fence
from trio_kafka.coordinators.groups.consumer.member import MemberState
from trio_kafka.coordinators.groups.consumer.replay import Replayer
from trio_kafka.coordinators.groups.consumer.transition import (
    JOIN,
    REBALANCE,
    REGEX,
    SESSION,
    SYNC,
    Transition,
)
from trio_kafka.coordinators.groups.consumer.upgrade import upgrade
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId
from trio_kafka.scheduling.chunked_work import Steps

_RETRY_MS: Final = 500  # a member that could not be fenced, as nothing could be written
_logger: Final = get_logger(__name__)


class ConsumerGroups:
    """A `Submachine`. What follows is in no record, and may be lost.

    hashes: of topics that groups read, until they change. readers: ids of groups by topic.
    new_topics_version: of the first image that has the newest topic. searches: looks through
    topics that are under way, by group. joining, revoking: timers of members that are told to
    join, and that give back (with the epoch in which they do).
    """

    def __init__(self, groups: Groups, assignors: Assignors | None = None) -> None:
        self.groups = groups
        self.assignors = assignors or Assignors()
        self.hashes: dict[str, int] = {}
        self.readers: dict[str, dict[str, None]] = {}
        self.new_topics_version = groups.image.offset
        self.searches: dict[str, topic_regexes.Search] = {}
        self.joining: set[TimerKey] = set()
        self.revoking: dict[TimerKey, int] = {}
        self._door = Door(self)
        self.replays = Replayer(groups.by_id, self._registered, self.forget).replays
        self.timers = frozenset({SESSION, REBALANCE, JOIN, SYNC, REGEX})

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """The one of these groups. Raises KafkaError(UNSUPPORTED_VERSION) where there is none."""
        for kind in groups.submachines:
            if isinstance(kind, cls):
                return kind
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    @property
    def image(self) -> MetadataImage:
        return self.groups.image

    def settings_of(self, group_id: str) -> GroupSettings:
        return self.groups.settings_of(group_id)

    # Groups

    def transition(self, group: ConsumerGroup, now_ms: int) -> Transition:
        return Transition(self, group, self.settings_of(group.group_id), now_ms)

    def existing(self, group_id: str, what: str = "Group") -> ConsumerGroup:
        """Raises KafkaError(GROUP_ID_NOT_FOUND)."""
        found = self.groups.by_id.get(group_id)
        if found is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{what} {group_id} not found.")
        if not isinstance(found, ConsumerGroup):
            message = f"Group {group_id} is not a consumer group."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        return found

    def open(self, group_id: str, now_ms: int) -> Transition:
        """The group for one who joins, made where there is none. A classic group makes room if it
        is empty, and becomes a consumer group if it may. Replay will have it so: what is here made
        new is not in `groups` yet.

        Raises KafkaError(GROUP_ID_NOT_FOUND).
        """
        found = self.groups.by_id.get(group_id)
        if isinstance(found, ConsumerGroup):
            return self.transition(found, now_ms)
        if found is None:
            transition = self.transition(self.new(group_id), now_ms)
            self.groups.offsets.look_for_expired(transition.effects)
            return transition
        if not isinstance(found, ClassicGroup):
            return self.transition(self.existing(group_id), now_ms)
        if not found.is_empty:
            return upgrade(self, found, now_ms)
        transition = self.transition(self.new(group_id), now_ms)
        transition.write(*found.tombstones())
        for key in found.timers():
            transition.effects.cancel_timer(key)
        return transition

    def new(self, group_id: str) -> ConsumerGroup:
        """A group that nobody knows of."""
        return ConsumerGroup(group_id=group_id, topic_id_of=self._topic_id, door=self._door)

    def _registered(self, group_id: str) -> ConsumerGroup:
        """A group that hears of its topics."""
        group = self.new(group_id)
        self._listen(group)
        return group

    def _listen(self, group: ConsumerGroup) -> None:
        group.subscriptions.appeared = partial(self._appeared, group.group_id)
        group.subscriptions.vanished = partial(self._vanished, group.group_id)

    def forget(self, group: ConsumerGroup) -> None:
        """The group is gone, or another one has its id."""
        for topic in group.subscriptions.topics:
            self._vanished(group.group_id, topic)
        self.searches.pop(group.group_id, None)

    def remember(self, group: ConsumerGroup) -> None:
        """It is there again."""
        for topic in group.subscriptions.topics:
            self._appeared(group.group_id, topic)

    def _appeared(self, group_id: str, topic: str) -> None:
        self.readers.setdefault(topic, {})[group_id] = None

    def _vanished(self, group_id: str, topic: str) -> None:
        readers = self.readers.get(topic, {})
        readers.pop(group_id, None)
        if not readers:
            self.readers.pop(topic, None)
            self.hashes.pop(topic, None)

    def _topic_id(self, name: str) -> TopicId | None:
        topic = self.image.topics.get(name)
        return None if topic is None else topic.id

    # What `Submachine` asks for

    def loaded(self, now_ms: int) -> Steps[Effects]:
        """Each member has a session from now on, and its time to give back. Topics may have come
        while nobody looked.
        """
        self.new_topics_version = self.image.offset
        effects = Effects()
        for group in tuple(self.groups.by_id.values()):
            if not isinstance(group, ConsumerGroup):
                continue
            transition = self.transition(group, now_ms)
            for member in group.by_id.values():
                transition.watch(member.member_id)
                if member.state is MemberState.UNREVOKED_PARTITIONS:
                    transition.follow(member)
                yield
            effects.join(transition.effects)
            yield
        return effects

    def image_changed(self, delta: MetadataDelta, now_ms: int) -> Effects:
        """Groups look at their topics again when they have changed; at the next heartbeat."""
        del now_ms
        if any(topic.created for topic in delta.topics.values()):
            self.new_topics_version = self.image.offset
        changed = [topic.name for topic in delta.topics.values()]
        changed += delta.deleted_topics.values()
        for topic in changed:
            self.hashes.pop(topic, None)
            for group_id in self.readers.get(topic, ()):
                group = self.groups.by_id.get(group_id)
                if isinstance(group, ConsumerGroup):
                    group.refresh_ms = group.refresh_epoch = 0
        return Effects()

    def timer(self, key: TimerKey, now_ms: int) -> Effects | Steps[Effects]:
        """A timer that was set is due."""
        group = self.groups.by_id.get(str(key[1]))
        epoch = self.revoking.pop(key, None)
        self.joining.discard(key)
        if not isinstance(group, ConsumerGroup):
            self.searches.pop(str(key[1]), None)
            return Effects()  # deleted, of another kind by now, or it could not be written
        transition = self.transition(group, now_ms)
        if key[0] == REGEX:
            return topic_regexes.go_on(transition)
        member_id = str(key[2])
        if key[0] == REBALANCE:
            member = group.by_id.get(member_id)
            if member is None or member.epoch != epoch:
                return Effects()  # it has gone on
        return _again_if_refused(key, fence(transition, member_id, _REASONS[str(key[0])]))


_REASONS: Final = {
    SESSION: "its session expired",
    REBALANCE: "it did not give back in time what it no longer has",
    JOIN: "the classic member failed to join within the rebalance timeout",
    SYNC: "the member failed to sync within timeout",
}


def _again_if_refused(key: TimerKey, event: Effects | Steps[Effects]) -> Steps[Effects]:
    """Nobody waits for it, so it is tried until it can be written."""
    effects = event if isinstance(event, Effects) else (yield from event)
    before: Callable[[KafkaError, int], Effects] | None = effects.refused

    def refused(error: KafkaError, now_ms: int) -> Effects:
        _logger.warning("member could not be fenced", group=key[1], member=key[2])
        later = Effects() if before is None else before(error, now_ms)
        return later.set_timer((SESSION, *key[1:]), _RETRY_MS)

    if effects.records:
        effects.refused = refused
    return effects
