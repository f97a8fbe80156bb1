"""Consumers of one group, told in a few words: what each owns, gives back, and thinks of itself.

A consumer owns what it was assigned last; what it loses by a new assignment it still owns until it
has given it back, and says so with its next heartbeat. One that is fenced drops everything, and
joins anew. One that is dead says nothing any more.
"""

from attrs import define, field

from tests.coordinators.groups.consumer.kit import Scene
from trio_kafka.coordinators.groups.consumer.values import OwnedTopic
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicId

FENCED = {
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.GROUP_ID_NOT_FOUND,
}
UNHEARD = {ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.UNRELEASED_INSTANCE_ID}
Partition = tuple[TopicId, int]


@define(eq=False)
class Consumer:
    """owned: what it reads. assigned: what it was assigned last. says: whether to tell all once."""

    scene: Scene
    name: str
    topics: list[str]
    regex: str | None = None
    instance: str | None = None
    member_id: str = ""
    epoch: int = 0
    lives: int = 0
    owned: set[Partition] = field(factory=set)
    assigned: set[Partition] = field(factory=set)
    says: bool = True
    alive: bool = True

    def __attrs_post_init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """A new life, under a new id."""
        self.lives += 1
        self.member_id = f"{self.name}-{self.lives}"
        self.forget()
        self.alive = True

    def forget(self) -> None:
        self.epoch, self.owned, self.assigned, self.says = 0, set(), set(), True

    def give_back(self) -> None:
        """It does not read any more what it was told to give up, and reads what is new."""
        self.owned = set(self.assigned)

    def beat(self, *, lost: bool = False) -> None:
        """A heartbeat; its answer may be lost, then the next one says all."""
        if not self.alive:
            return
        said = {"instance_id": self.instance}
        if self.says:
            said |= {
                "rebalance_timeout_ms": 10_000,
                "topics": self.topics,
                # Null is "as before": who has no expression any more says an empty one.
                "regex": self.regex or ("" if self.epoch else None),
            }
        owned = self.owned if self.epoch else set()
        try:
            answer = self.scene.beat(
                self.member_id, epoch=self.epoch, owned=_by_topic(owned), **said
            )
        except KafkaError as error:
            if error.code in FENCED:
                self.forget()
            elif error.code not in UNHEARD:
                raise
            return
        if lost:
            self.says = True
            return
        self.says = False
        self.epoch = answer.epoch
        if answer.assignment is not None:
            self.assigned = {
                (topic, number)
                for topic, numbers in answer.assignment.items()
                for number in numbers
            }
            # What is new it reads at once where nothing is to be given back.
            if self.owned <= self.assigned:
                self.owned = set(self.assigned)

    def want(self, topics: list[str], regex: str | None = None) -> None:
        self.topics, self.regex, self.says = topics, regex, True

    def leave(self, *, for_a_while: bool = False) -> None:
        if not self.alive:
            return
        epoch = -2 if for_a_while and self.instance else -1
        try:
            self.scene.beat(self.member_id, epoch=epoch, instance_id=self.instance)
        except KafkaError as error:
            # It may not have joined in the place of who had its instance before.
            if error.code not in FENCED | UNHEARD | {ErrorCode.FENCED_INSTANCE_ID}:
                raise
        self.die()

    def die(self) -> None:
        self.alive = False
        self.owned, self.assigned = set(), set()


def _by_topic(owned: set[Partition]) -> list[OwnedTopic]:
    topics: dict[TopicId, list[int]] = {}
    for topic, number in sorted(owned):
        topics.setdefault(topic, []).append(number)
    return [OwnedTopic(topic, numbers) for topic, numbers in topics.items()]
