"""State that the consumer groups of one shard share beside their records. All of it may be lost."""

from typing import Final, Self

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.regex_search import Search, Searches
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.history import GroupHistory
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import TimerKey
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicId

_SPARE: Final = 64  # histories of groups that may be gone


@define(eq=False)
class ConsumerShardState:
    """Shared state of the consumer groups of one shard.

    hashes: of the topics that groups read, until a topic changes. new_topics_version: offset of the
    first image with the newest topic. searches: regular expression searches under way, by group.
    run_searches: what runs them.
    joining, revoking: timers of members that were told to join again, and of members that must
    revoke partitions, with their epoch.
    histories: of consumer groups. A group is made anew when its first record is replayed, so they
    are kept beside the groups; see `history_of`.
    """

    groups: Groups
    run_searches: Searches
    assignors: Assignors = field(factory=Assignors)
    hashes: dict[str, int] = field(factory=dict)
    new_topics_version: int = 0
    searches: dict[str, Search] = field(factory=dict)
    joining: set[TimerKey] = field(factory=set)
    revoking: dict[TimerKey, int] = field(factory=dict)
    histories: dict[str, GroupHistory] = field(factory=dict)

    @classmethod
    def of(cls, groups: Groups) -> Self:
        """Return the state of a shard. Raises KafkaError(UNSUPPORTED_VERSION) if it has none."""
        for submachine in groups.submachines:
            state = getattr(submachine, "state", None)
            if isinstance(state, cls):
                return state
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)

    @property
    def image(self) -> MetadataImage:
        return self.groups.image

    def settings_of(self, group_id: str) -> GroupSettings:
        return self.groups.settings_of(group_id)

    def history_of(self, group_id: str) -> GroupHistory:
        """Return the history of a group. Histories of groups that are gone are dropped from time to
        time, when a new one is made.
        """
        history = self.histories.get(group_id)
        if history is None:
            by_id, histories = self.groups.by_id, self.histories
            if len(histories) > 2 * len(by_id) + _SPARE:
                self.histories = {name: old for name, old in histories.items() if name in by_id}
            history = self.histories[group_id] = GroupHistory()
        return history

    def existing(self, group_id: str, noun: str = "Group") -> ConsumerGroup:
        """Return the consumer group. Raises KafkaError(GROUP_ID_NOT_FOUND)."""
        group = self.groups.by_id.get(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{noun} {group_id} not found.")
        if not isinstance(group, ConsumerGroup):
            message = f"Group {group_id} is not a consumer group."
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, message)
        return group

    def new(self, group_id: str) -> ConsumerGroup:
        """Return a new group that is not in `groups` yet."""
        return ConsumerGroup(group_id=group_id, topic_id_of=self._topic_id)

    def _topic_id(self, name: str) -> TopicId | None:
        topic = self.image.topics.get(name)
        return None if topic is None else topic.id
