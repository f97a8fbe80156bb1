"""A consumer group under any events in any order: all is read in the end, and nothing twice.

Consumers join, live, lose answers, change their minds, leave, come back, die; topics come, grow and
go; appends are refused; the broker is killed. See `model` for what a consumer is.
"""

from typing import Any, Final

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.coordinators.groups.consumer.kit import GROUP, Scene
from tests.coordinators.groups.consumer.model import Consumer
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.slow

TOPICS: Final = ("a", "b", "c")
WANTS: Final = (
    (["a"], None),
    (["a", "b"], None),
    (["b", "c"], None),
    (["missing"], None),
    ([], None),
    ([], "a|b"),
    (["c"], "[ab]"),
)
NAMES: Final = range(5)
EVENTS: Final = st.one_of(
    st.tuples(st.just("beat"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("beat"), st.sampled_from(NAMES), st.just(False)),
    st.tuples(st.just("give_back"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("want"), st.sampled_from(NAMES), st.sampled_from(range(len(WANTS)))),
    st.tuples(st.just("leave"), st.sampled_from(NAMES), st.booleans()),
    st.tuples(st.just("die"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("begin"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("wait"), st.just(0), st.sampled_from((10, 2_000, 11_000, 46_000))),
    st.tuples(st.just("topic"), st.sampled_from(TOPICS), st.integers(1, 6)),
    st.tuples(st.just("delete"), st.sampled_from(TOPICS), st.just(0)),
    st.tuples(st.just("refused"), st.sampled_from(NAMES), st.just(0)),
    st.tuples(st.just("killed"), st.just(0), st.just(0)),
)


class Story:
    """One sequence of events, with what must hold after each."""

    def __init__(self, assignor: str, interval_ms: int) -> None:
        self.scene = Scene(
            {"a": 3, "b": 2},
            at_once=False,
            consumer_assignment_interval_ms=interval_ms,
            consumer_assignors=(assignor,),
        )
        self.consumers = [
            Consumer(self.scene, f"c{number}", ["a"], instance=f"i{number}" if number > 2 else None)
            for number in NAMES
        ]

    def happen(self, event: tuple[str, Any, Any]) -> None:
        action, whom, how = event
        match action:
            case "beat":
                self.consumers[whom].beat(lost=how)
            case "give_back":
                self.consumers[whom].give_back()
            case "want":
                self.consumers[whom].want(*WANTS[how])
            case "leave":
                self.consumers[whom].leave(for_a_while=how)
            case "die":
                self.consumers[whom].die()
            case "begin":
                if not self.consumers[whom].alive:
                    self.consumers[whom].begin()
            case "wait":
                self._wait(how)
            case "topic":
                topic = self.scene.image.topics.get(whom)
                self.scene.create(**{whom: max(how, len(topic.partitions) if topic else 0)})
            case "delete":
                if whom in self.scene.image.topics:
                    self.scene.delete(whom)
            case "refused":
                self.scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                self.consumers[whom].beat()
                self.scene.driver.refuse = None
            case "killed":
                self.scene.driver = self.scene.driver.reload()
        self.check()

    def _wait(self, ms: int) -> None:
        """Let time pass. Live members beat; those that do not give back are fenced."""
        for _ in range(ms // 4_000):
            self.scene.wait(4_000)
            for consumer in self.consumers:
                if consumer.epoch:
                    consumer.beat()
                    self.check()
        self.scene.wait(ms % 4_000)

    @property
    def group(self) -> ConsumerGroup | None:
        result = self.scene.driver.machine.by_id.get(GROUP)
        assert result is None or isinstance(result, ConsumerGroup)
        return result

    def check(self) -> None:
        """No partition has two owners: here, and among those who are alive."""
        group = self.group
        if group is None:
            return
        owned: set[tuple[bytes, int]] = set()
        epochs = 0
        for member in group.by_id.values():
            for partitions in (member.assigned, member.revoking):
                for topic, numbers in partitions.items():
                    assert numbers, "no empty sets"
                    for number in numbers:
                        assert (topic, number) not in owned
                        owned.add((topic, number))
                        assert group.epochs[topic][number] == member.epoch
                        epochs += 1
            assert member.epoch <= group.epoch
        assert sum(len(numbers) for numbers in group.epochs.values()) == epochs
        for instance_id, member_id in group.statics.items():
            assert group.by_id[member_id].instance_id == instance_id

    def settle(self) -> None:
        """Everybody heartbeats and does what it is told, while time goes by."""
        for _ in range(16):
            for consumer in self.consumers:
                if consumer.alive:
                    consumer.give_back()
                    consumer.beat()
                    self.check()
            self.scene.wait(4_000)

    def check_end(self) -> None:
        """All that somebody wants is read, by one who wants it; nobody waits for anything."""
        alive = [consumer for consumer in self.consumers if consumer.alive]
        read: list[tuple[bytes, int]] = []
        for consumer in alive:
            assert consumer.owned == consumer.assigned
            names = {self.scene.image.topic_names[topic] for topic, _ in consumer.owned}
            assert names <= self._subscribed_topics(consumer)
            read += consumer.owned
        expected = set().union(*(self._subscribed_topics(consumer) for consumer in alive))
        everything = {
            (self.scene.image.topics[name].id, number)
            for name in expected
            for number in self.scene.image.topics[name].partitions
        }
        assert sorted(read) == sorted(everything)
        if self.group is not None:
            assert self.group.state == ("Stable" if alive else "Empty")

    def _subscribed_topics(self, consumer: Consumer) -> set[str]:
        names = set(consumer.topics)
        if consumer.regex is not None:
            names |= {"a|b": {"a", "b"}, "[ab]": {"a", "b"}}[consumer.regex]
        return names & set(self.scene.image.topics)

    def check_log(self) -> None:
        """The log alone says all of the group."""
        group = self.group
        again = self.scene.driver.reload().machine.by_id.get(GROUP)
        if group is None:
            assert again is None
            return
        assert isinstance(again, ConsumerGroup)
        for name in ("epoch", "metadata_hash", "assignment_epoch", "assigned_ms", "statics"):
            assert getattr(again, name) == getattr(group, name)
        for name in ("targets", "epochs", "classic"):
            assert getattr(again, name) == getattr(group, name)
        for name in ("topics", "regexes", "resolved"):
            assert getattr(again.subscriptions, name) == getattr(group.subscriptions, name)
        assert again.by_id.keys() == group.by_id.keys()


@settings(deadline=None)
@example("uniform", 0, [("want", 0, 5), ("refused", 0, 0)])
@example("uniform", 0, [("beat", 0, False), ("delete", "a", 0), ("want", 0, 1), ("topic", "a", 1)])
@example(
    "uniform",
    0,
    [("beat", 3, False), ("leave", 3, True), ("begin", 3, 0), ("leave", 3, False)],
)
@example("uniform", 0, [("want", 1, 5), ("beat", 1, False), ("want", 1, 0)])
@given(
    st.sampled_from(("uniform", "range")),
    st.sampled_from((0, 1000)),
    st.lists(EVENTS, max_size=40),
)
def test_no_partition_has_two_readers_and_finally_every_partition_has_a_reader(
    assignor: str, interval_ms: int, events: list[tuple[str, Any, Any]]
) -> None:
    story = Story(assignor, interval_ms)

    for event in events:
        story.happen(event)
    # Who died is forgotten, static members that left have not come back in time.
    story.scene.wait(1)
    for _ in range(12):
        for consumer in story.consumers:
            consumer.beat()
        story.scene.wait(4_000)
    story.settle()

    story.check_end()
    story.check_log()
    before = [set(consumer.owned) for consumer in story.consumers]
    written = len(story.scene.driver.log)
    story.settle()
    assert [consumer.owned for consumer in story.consumers] == before, "nothing moves"
    assert len(story.scene.driver.log) == written, "nothing is written"
