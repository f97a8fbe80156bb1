"""Records that clients of a broker know for certain, and a new life must therefore show. Pure.

A record that was sent is in doubt until its offset is known: from an answer, or because a client
has read it. What is known stays where it is; what was in doubt when a life ended is there or not,
and stays as it is found.

Two things may remove a record. DeleteRecords removes those below an offset; a life that ends at
once may show them again, as the start offset is written now and then. Compaction removes a record
for which a later one with the same key is there.
"""

from collections.abc import Iterable, Mapping
from enum import Enum

from attrs import define, field


class BrokenWordError(AssertionError):
    """The broker broke its word; `rule` says which."""

    def __init__(self, rule: str, evidence: str) -> None:
        super().__init__(f"{rule}: {evidence}")
        self.rule = rule


class State(Enum):
    """A topic in the eyes of who creates and deletes it."""

    CREATING = "creating"
    THERE = "there"
    DELETING = "deleting"


@define(eq=False)
class Partition:
    """Records of one partition. `name` tells it from all others, also of a namesake before.

    keys: of the values, in a compacted topic; None: in any other. compacted: records removed so.
    start: no record below it need be there, as its deletion was asked for.
    """

    name: str
    keys: dict[bytes, bytes] | None = None
    confirmed: dict[int, bytes] = field(factory=dict)
    doubtful: set[bytes] = field(factory=set)
    start: int = 0
    compacted: int = 0

    def send(self, values: Iterable[bytes]) -> None:
        """They may arrive from now on."""
        self.doubtful.update(values)

    def acknowledge(self, base_offset: int, values: Iterable[bytes]) -> None:
        for offset, value in enumerate(values, base_offset):
            self._know(offset, value)

    def see(self, offset: int, value: bytes) -> None:
        """Somebody has read it."""
        if not value.startswith(self.name.encode() + b" "):
            raise BrokenWordError(
                "nothing of another partition", f"{value!r} at {offset} of {self.name}"
            )
        if self.confirmed.get(offset) != value and value not in self.doubtful:
            raise BrokenWordError(
                "nothing that was not sent, nothing twice", f"{value!r} at {offset}"
            )
        self._know(offset, value)

    def _know(self, offset: int, value: bytes) -> None:
        if self.confirmed.setdefault(offset, value) != value:
            raise BrokenWordError(
                "an offset is given once", f"{value!r} at {offset}: {self.confirmed[offset]!r}"
            )
        self.doubtful.discard(value)

    def settle(self, content: Mapping[int, bytes], retried: Iterable[bytes]) -> None:
        """The whole content after a start. retried: will be sent again."""
        for offset, value in content.items():
            self.see(offset, value)
        lost = [
            offset for offset in self.confirmed if offset not in content and offset >= self.start
        ]
        if self.keys is not None:
            missing = len(lost)
            lost = [offset for offset in lost if not self._is_replaced(offset, content)]
            self.compacted = missing - len(lost)
        if lost:
            raise BrokenWordError(
                "what was acknowledged is there", f"{self.name}: {lost[:5]} of {content}"
            )
        offsets = list(content)
        if self.keys is None and offsets:
            if offsets != list(range(offsets[0], offsets[-1] + 1)):
                raise BrokenWordError("offsets have no gaps", f"{self.name}: {offsets}")
            if offsets[0] > self.start:
                raise BrokenWordError("nothing is deleted unasked", f"{self.name}: {offsets[0]}")
        elif offsets != sorted(offsets):
            raise BrokenWordError("offsets ascend", f"{self.name}: {offsets}")
        if len(set(content.values())) != len(content):
            raise BrokenWordError("once", f"{self.name}: {list(content.values())}")
        self.doubtful.intersection_update(retried)

    def key(self, value: bytes) -> bytes | None:
        return None if self.keys is None else self.keys[value]

    def _is_replaced(self, offset: int, content: Mapping[int, bytes]) -> bool:
        """Whether a later record of the same key is there: it, or one that replaced that one."""
        key = self.key(self.confirmed[offset])
        return any(later > offset and self.key(value) == key for later, value in content.items())


@define(eq=False)
class Topic:
    """id: zeros until somebody has told it."""

    name: str
    state: State
    partitions: list[Partition]
    id: bytes = bytes(16)

    def identify(self, topic_id: bytes) -> None:
        if self.id not in (bytes(16), topic_id):
            raise BrokenWordError("what was created is there", f"{self.name} is another topic now")
        self.id = topic_id


@define
class Ledger:
    """All topics. created: their number, so that a name given twice means two topics."""

    topics: dict[str, Topic] = field(factory=dict)
    created: int = 0
    producer_ids: set[int] = field(factory=set)
    acknowledged: int = 0
    deleted: int = 0
    compacted: int = 0
    cut: int = 0
    moved: int = 0

    def create(self, name: str, partitions: int, *, compacted: bool = False) -> Topic:
        """A topic that may come into being from now on."""
        self.created += 1
        parts = [
            Partition(f"{name}#{self.created}/{number}", {} if compacted else None)
            for number in range(partitions)
        ]
        topic = self.topics[name] = Topic(name, State.CREATING, parts)
        return topic

    def take_producer_id(self, producer_id: int) -> None:
        if producer_id in self.producer_ids:
            raise BrokenWordError("a producer id is given once", str(producer_id))
        self.producer_ids.add(producer_id)

    def settle(self, there: Mapping[str, tuple[bytes, int]]) -> None:
        """The topics after a start, with their ids and numbers of partitions."""
        for name, (topic_id, partitions) in there.items():
            topic = self.topics.get(name)
            if topic is None:
                raise BrokenWordError("deleted topics stay deleted", name)
            if len(topic.partitions) != partitions:
                raise BrokenWordError("topics keep their partitions", f"{name} has {partitions}")
            topic.identify(topic_id)
            topic.state = State.THERE
        for name, topic in list(self.topics.items()):
            if name not in there:
                if topic.state is State.THERE:
                    raise BrokenWordError("what was created is there", name)
                del self.topics[name]
