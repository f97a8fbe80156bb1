"""A machine with consumer groups, topics for it, and what members say."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest
from attrs import field

from tests.metadata.kit import replay_all
from trio_kafka.attributes import define
from trio_kafka.coordinators.groups.classic.submachine import ClassicGroups, simple_group
from trio_kafka.coordinators.groups.consumer.assignors.registry import Assignors
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.groups.consumer.heartbeat import heartbeat
from trio_kafka.coordinators.groups.consumer.regex_search import Search, matching
from trio_kafka.coordinators.groups.consumer.shard_state import ConsumerShardState
from trio_kafka.coordinators.groups.consumer.submachine import ConsumerGroups
from trio_kafka.coordinators.groups.consumer.topic_regexes import ended
from trio_kafka.coordinators.groups.consumer.values import (
    Heartbeat,
    HeartbeatAnswer,
    OwnedTopic,
)
from trio_kafka.coordinators.groups.groups import Groups
from trio_kafka.coordinators.groups.settings import GroupSettings
from trio_kafka.coordinators.shards.effects import TimerKey
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.delta import MetadataDelta
from trio_kafka.metadata.image import BrokerRegistration, MetadataImage
from trio_kafka.metadata.immutable_map import ImmutableMap
from trio_kafka.model import TopicId
from trio_kafka.protocol.stored.metadata.topics import (
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.machines import MachineDriver

GROUP = "g"
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
FENCED = ErrorCode.FENCED_MEMBER_EPOCH
SESSION_MS = 45_000
REBALANCE_MS = 10_000


def topic_id(name: str, life: int = 0) -> TopicId:
    """As good as chance. life: how often it was deleted: it is another topic then."""
    return TopicId(name.encode().ljust(15, b"\x00") + bytes([life]))


@contextmanager
def refusal(code: ErrorCode, message: str | None = None) -> Iterator[None]:
    """Check that the block raises this error."""
    with pytest.raises(KafkaError) as caught:
        yield
    assert caught.value.code is code
    if message is not None:
        assert caught.value.message == message


@define(eq=False)
class WaitingSearches:
    """Searches for regular expressions that wait until a test runs them.

    too_slow: expressions that are rejected. full: no further search is taken.
    """

    waiting: list[Search] = field(factory=list)
    too_slow: dict[str, KafkaError] = field(factory=dict)
    full: bool = False

    def submit(self, search: Search) -> bool:
        if not self.full:
            self.waiting.append(search)
        return not self.full

    def rejection_of(self, regex: str) -> KafkaError | None:
        return self.too_slow.get(regex)

    def run_next(self) -> Search:
        """Run the search that waits longest, without its event."""
        search = self.waiting.pop(0)
        may_describe = search.may_describe or bool
        for regex in search.regexes:
            names: Iterable[str] = ()
            try:
                if (error := self.rejection_of(regex)) is not None:
                    raise error
                names = whole(matching(regex, search.topics, None)).names
            except KafkaError as error:
                search.rejected[regex] = error
            search.matches[regex] = frozenset(filter(may_describe, names))
        return search


class Scene:
    """One shard, its metadata, and members by name; `owned` is what each thinks that it owns.

    at_once: assignments do not wait for an interval.
    """

    def __init__(
        self, topics: dict[str, int] | None = None, *, at_once: bool = True, **settings: Any
    ) -> None:
        if at_once:
            settings.setdefault("consumer_assignment_interval_ms", 0)
        self.settings = GroupSettings(**settings)
        self.assignors = Assignors(self.settings.consumer_assignors)
        self.searches = WaitingSearches()
        self.image = MetadataImage()
        self.lives: dict[str, int] = {}
        self.epochs: dict[str, int] = {}
        self.owned: dict[str, dict[TopicId, frozenset[int]]] = {}
        self.driver: MachineDriver[Groups] = MachineDriver(self._machine)
        self.create(**(topics or {}))

    def _machine(self) -> Groups:
        return Groups(
            [ClassicGroups, lambda groups: ConsumerGroups(groups, self.searches, self.assignors)],
            simple=simple_group,
            settings=self.settings,
            image=self.image,
        )

    # The cluster

    def create(self, **topics: int) -> None:
        """Topics by name; those that are there get more partitions."""
        records: list[Any] = []
        for name, size in topics.items():
            existing = self.image.topics.get(name)
            if existing is None:
                records.append(TopicRecord(name=name, topic_id=self.topic_id(name)))
            begin = 0 if existing is None else len(existing.partitions)
            records += [
                PartitionRecord(
                    partition_id=number,
                    topic_id=self.topic_id(name),
                    replicas=[1],
                    isr=[1],
                    leader=1,
                )
                for number in range(begin, size)
            ]
        self.change(records)

    def delete(self, *names: str) -> None:
        self.change([RemoveTopicRecord(topic_id=self.topic_id(name)) for name in names])
        for name in names:
            self.lives[name] = self.lives.get(name, 0) + 1

    def topic_id(self, name: str) -> TopicId:
        """Of the topic that has the name now, or would have it."""
        return topic_id(name, self.lives.get(name, 0))

    def change(self, records: list[Any]) -> None:
        """Apply records as the next ones of the metadata log."""
        delta = MetadataDelta(self.image)
        replay_all(delta, records)
        self.image = image = delta.apply(self.image.offset + len(records), 1, self.driver.now_ms)
        for change in self.driver.machine.image_changed(delta, image):
            self.driver.apply(change)

    # Members

    def beat(self, member: str, **said: Any) -> HeartbeatAnswer:
        """A heartbeat with the epoch that the member knows. Raises KafkaError."""
        epoch = said.pop("epoch", self.epochs.get(member, 0))
        said.setdefault("client_id", "client")
        said.setdefault("client_host", "/127.0.0.1")
        request = Heartbeat(group_id=GROUP, member_id=member, epoch=epoch, **said)
        answer: HeartbeatAnswer = self.driver.ask(partial(heartbeat, request))
        if answer.epoch >= 0:
            self.epochs[member] = answer.epoch
            if answer.assignment is not None:
                self.owned[member] = {
                    topic: frozenset(numbers) for topic, numbers in answer.assignment.items()
                }
        return answer

    def join(self, member: str, *topics: str, **said: Any) -> HeartbeatAnswer:
        said.setdefault("rebalance_timeout_ms", REBALANCE_MS)
        said.setdefault("owned", [])
        if topics or "regex" not in said:
            said["topics"] = list(topics)
        return self.beat(member, epoch=0, **said)

    def say_owned(self, member: str) -> HeartbeatAnswer:
        """A heartbeat of who has given back what it was to give back."""
        return self.beat(member, owned=self.owns(member))

    def wait(self, ms: int) -> None:
        """Let time pass; searches for regular expressions that started are run."""
        self.driver.advance(ms)
        while self.searches.waiting:
            self.end_search()

    def end_search(self) -> None:
        """Run the search that waits longest."""
        self.driver.apply(partial(ended, self.searches.run_next()))

    def owns(self, member: str) -> list[OwnedTopic]:
        return [
            OwnedTopic(topic, sorted(numbers))
            for topic, numbers in self.owned.get(member, {}).items()
        ]

    def leave(self, member: str, **said: Any) -> HeartbeatAnswer:
        answer = self.beat(member, epoch=said.pop("epoch", -1), **said)
        self.epochs.pop(member, None)
        self.owned.pop(member, None)
        return answer

    def settle(self, *members: str, rounds: int = 6) -> None:
        """All of them beat, until nothing more is to be done."""
        for _ in range(rounds):
            for member in members or list(self.epochs):
                self.say_owned(member)

    @property
    def due(self) -> dict[TimerKey, int]:
        """Timers of consumer groups: milliseconds until they are due."""
        timers = self.driver.timers
        return {key: ms for key, ms in timers.items() if str(key[0]).startswith("consumer-")}

    @property
    def group(self) -> ConsumerGroup:
        result = self.driver.machine.group(GROUP)
        assert isinstance(result, ConsumerGroup)
        return result

    @property
    def state(self) -> ConsumerShardState:
        return ConsumerShardState.of(self.driver.machine)

    @property
    def submachine(self) -> ConsumerGroups:
        result = self.driver.machine.submachines[-1]
        assert isinstance(result, ConsumerGroups)
        return result

    def has(self, member: str) -> dict[str, list[int]]:
        """Partitions that the member owns and keeps, as the coordinator says, by topic's name."""
        assigned = self.group.by_id[member].assigned
        return {
            self.image.topic_names[topic]: sorted(numbers) for topic, numbers in assigned.items()
        }

    def with_racks(self, **racks: str) -> None:
        """Brokers by number, as `b1="rack"`."""
        brokers = {
            int(name[1:]): BrokerRegistration(
                id=int(name[1:]),
                epoch=1,
                incarnation_id=b"",
                rack=rack,  # type: ignore[arg-type]
            )
            for name, rack in racks.items()
        }
        self.image = MetadataImage(
            offset=self.image.offset,
            topics=self.image.topics,
            topic_names=self.image.topic_names,
            brokers=brokers,  # type: ignore[arg-type]
            configs=ImmutableMap(),
        )
        self.driver.machine.image = self.image
