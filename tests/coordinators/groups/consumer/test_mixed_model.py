"""Members of both protocols in one group, in any order of events: the group goes from one kind to
the other and back, and in the end all is read, once.
"""

from contextlib import suppress
from itertools import count
from typing import Any, Final

import pytest
from attrs import define, field
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.coordinators.groups.consumer.classic import Member, Owned, assignment
from tests.coordinators.groups.consumer.kit import GROUP, Scene
from tests.coordinators.groups.consumer.model import Consumer, Partition
from trio_kafka.coordinators.groups.classic.group import ClassicGroup
from trio_kafka.coordinators.groups.classic.values import JoinAnswer, JoinedMember
from trio_kafka.coordinators.groups.consumer.embedded_protocol import read_subscription
from trio_kafka.coordinators.groups.consumer.group import ConsumerGroup
from trio_kafka.coordinators.shards.effects import Ticket
from trio_kafka.errors import ErrorCode, KafkaError

pytestmark = pytest.mark.slow

TOPICS: Final = {"a": 3, "b": 2}
WANTS: Final = (["a"], ["a", "b"], ["b"])
NAMES: Final = range(3)  # of each protocol
ROUNDS: Final = 30
# After these a consumer joins again under the id that it has, as Kafka's does: a static leader with
# a new id would be let in without a rebalance.
AGAIN: Final = {
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.ILLEGAL_GENERATION,
}


@define(eq=False)
class ClassicConsumer:
    """A consumer that gives everything up before it joins, one request at a time.

    owned: what it reads. waits: for the answer to a join, or to a sync. said: what it wanted when
    it joined, and how large topics were: it joins again when that changes.
    """

    scene: Scene
    name: str
    fresh: "count[int]"
    topics: list[str]
    instance: str | None = None
    alive: bool = False
    member: Member = field(init=False)
    owned: Owned = field(factory=dict)
    waits: tuple[str, Ticket] | None = None
    joins: bool = True
    said: object = None

    def begin(self) -> None:
        self.member = Member(self.scene, self.topics, instance=self.instance)
        self.owned, self.waits, self.joins, self.alive = {}, None, True, True

    def die(self) -> None:
        self.alive, self.owned = False, {}

    def forget_request(self) -> None:
        """The broker has died: there will be no answer."""
        if self.waits is not None:
            self.waits, self.joins = None, True

    def want(self, topics: list[str]) -> None:
        self.topics = topics
        if self.alive:
            self.member.topics = topics

    def leave(self) -> None:
        if self.alive and self.member.member_id:
            with suppress(KafkaError):  # there is no such group
                self.member.leave()
        self.die()

    def transition(self) -> None:
        """One step: what the answer asks for, or a sign of life."""
        if not self.alive:
            return
        if self.waits is not None:
            kind, ticket = self.waits
            if ticket not in self.scene.driver.answers:
                return
            self.waits = None
            self._try(lambda: self._joined(ticket) if kind == "join" else self._synced(ticket))
        elif self.joins or self.said != self._says():
            self.joins, self.owned, self.said = False, {}, self._says()
            self.member.has = {}
            name = f"{self.name}-{next(self.fresh)}"
            self.waits = "join", self.member.ask_join(fresh=name)
        else:
            self._try(self._beat)

    def _says(self) -> object:
        sizes = [len(topic.partitions) for topic in self.scene.image.topics.values()]
        return self.topics, sizes

    def _try(self, step: Any) -> None:
        try:
            step()
        except KafkaError as error:
            self.joins, self.owned = True, {}
            if error.code not in AGAIN:
                self.member.member_id = ""

    def _beat(self) -> None:
        self.joins = self.member.beat() is ErrorCode.REBALANCE_IN_PROGRESS

    def _joined(self, ticket: Ticket) -> None:
        answer = self.member.answer(ticket)
        assert isinstance(answer, JoinAnswer)
        if answer.error is ErrorCode.MEMBER_ID_REQUIRED:
            self.member.member_id, self.joins = answer.member_id, True
            return
        if answer.error is not ErrorCode.NONE:
            raise KafkaError(answer.error)
        self.member.member_id, self.member.generation = answer.member_id, answer.generation
        leads = answer.leader == answer.member_id and not answer.skip_assignment
        assignments = self._assign(answer.members) if leads else {}
        self.waits = "sync", self.member.ask_sync(assignments)

    def _assign(self, members: tuple[JoinedMember, ...]) -> dict[str, bytes]:
        """As any leader does: each partition to one who wants it."""
        wants = {member.member_id: read_subscription(member.metadata).topics for member in members}
        owned: dict[str, Owned] = {member: {} for member in wants}
        for name, topic in self.scene.image.topics.items():
            readers = sorted(member for member, topics in wants.items() if name in topics)
            for number in topic.partitions if readers else ():
                owned[readers[number % len(readers)]].setdefault(name, []).append(number)
        return {member: assignment(those) for member, those in owned.items()}

    def _synced(self, ticket: Ticket) -> None:
        self.owned = self.member.take(self.member.answer(ticket))

    @property
    def reads(self) -> set[Partition]:
        topics = self.scene.image.topics
        return {(topics[name].id, number) for name, those in self.owned.items() for number in those}


EVENTS: Final = st.one_of(
    st.tuples(st.sampled_from(("beat", "beat", "give_back")), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(("transition", "transition", "transition")), st.sampled_from(NAMES)),
    st.tuples(st.sampled_from(("begin", "leave", "die")), st.sampled_from(range(6))),
    st.tuples(st.just("want"), st.sampled_from(range(6))),
    st.tuples(st.just("wait"), st.sampled_from((10, 4_000, 12_000, 46_000))),
    st.tuples(st.sampled_from(("grow", "refused", "killed")), st.just(0)),
)


class Story:
    """Members 0 to 2 speak KIP-848, 3 to 5 the classic protocol; the last of each is static."""

    def __init__(self) -> None:
        self.scene = Scene(TOPICS)
        fresh = count(1)
        self.new = [
            Consumer(self.scene, f"n{number}", ["a"], instance="i" if number == 2 else None)
            for number in NAMES
        ]
        self.old = [
            ClassicConsumer(self.scene, f"o{name}", fresh, ["a"], "j" if name == 2 else None)
            for name in NAMES
        ]
        self.new[1].die()
        for old in self.old[1:]:
            old.begin()
        self.wants = 0

    def happen(self, action: str, which: int) -> None:
        member: Any = [*self.new, *self.old][which] if which < 6 else None
        match action:
            case "beat" | "give_back":
                getattr(self.new[which], action)()
            case "transition":
                self.old[which].transition()
            case "begin":
                if not member.alive:
                    member.begin()
            case "leave" | "die":
                getattr(member, action)()
            case "want":
                self.wants += 1
                member.want(WANTS[self.wants % len(WANTS)])
            case "wait":
                self._live(which)
            case "grow":
                sizes = {name: len(topic.partitions) for name, topic in self.topics.items()}
                self.scene.create(a=min(sizes["a"] + 1, 5))
            case "refused":
                self.scene.driver.refuse = KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
                self._all_act()
                self.scene.driver.refuse = None
            case "killed":
                self.scene.driver = self.scene.driver.reload()
                for old in self.old:
                    old.forget_request()
        self.check()
        self.check_log()

    @property
    def topics(self) -> Any:
        return self.scene.image.topics

    def _all_act(self) -> None:
        for consumer in self.new:
            if consumer.alive:
                consumer.give_back()
                consumer.beat()
                self.check()
        for old in self.old:
            old.transition()
            self.check()

    def _live(self, ms: int) -> None:
        for _ in range(ms // 2_000):
            self._all_act()
            self.scene.wait(2_000)
        self.scene.wait(ms % 2_000)

    def check(self) -> None:
        """No partition has two owners, as far as the group knows."""
        group = self.scene.driver.machine.by_id.get(GROUP)
        if isinstance(group, ConsumerGroup):
            owned: set[Partition] = set()
            for member in group.by_id.values():
                for partitions in (member.assigned, member.revoking):
                    those = {
                        (topic, partition)
                        for topic in partitions
                        for partition in partitions[topic]
                    }
                    assert owned.isdisjoint(those)
                    owned |= those
            assert group.classic == sum(
                group_member.classic is not None for group_member in group.by_id.values()
            )

    def check_log(self) -> None:
        """It says of which kind the group is, and who is in it."""
        group = self.scene.driver.machine.by_id.get(GROUP)
        again = self.scene.driver.reload().machine.by_id.get(GROUP)
        assert (again and again.type) == (group and group.type)
        if isinstance(group, ClassicGroup) and group.state == "Stable":
            assert isinstance(again, ClassicGroup)
            assert {member.member_id for member in again.membership} == {
                member.member_id for member in group.membership
            }

    def check_end(self) -> None:
        """All that somebody wants is read, once, by who wants it."""
        read: list[Partition] = []
        expected: set[str] = set()
        for consumer in (new for new in self.new if new.alive):
            expected |= set(consumer.topics)
            read += consumer.owned
        for reader in (old for old in self.old if old.alive):
            expected |= set(reader.topics)
            read += reader.reads
        everything = {
            (self.topics[name].id, number)
            for name in expected
            for number in self.topics[name].partitions
        }
        assert sorted(read) == sorted(everything)
        group = self.scene.driver.machine.by_id.get(GROUP)
        if expected:
            assert group is not None
            assert group.state == "Stable"
            speak_new = any(new.alive for new in self.new)
            assert group.type == "consumer" if speak_new else True


@settings(deadline=None)
@example([("wait", 46_000), ("leave", 0), ("transition", 1), ("leave", 2), ("killed", 0)])
@given(st.lists(EVENTS, max_size=40))
def test_group_with_members_of_both_protocols_reads_every_partition_exactly_once(
    events: list[tuple[str, int]],
) -> None:
    story = Story()

    for action, which in events:
        story.happen(action, which)
    story._live(60_000)  # who died is forgotten
    story._live(2_000 * ROUNDS)

    story.check_end()
