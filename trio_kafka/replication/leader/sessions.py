"""Fetch sessions: the partitions of a client from poll to poll (KIP-227).

A session knows its partitions and what it sent last for each. It watches them between polls: a mark
    adds the partition to `dirty`. Only dirty partitions are read, so a poll over a thousand idle
    ones costs next to nothing. A partition stays dirty until a read gave neither bytes nor an
    error.
Pure: no I/O, no clock, no messages.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.model import TopicId
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.leader.read import PartitionFetch, PartitionRead
from trio_kafka.scheduling.chunked_work import Steps, in_slices

NO_SESSION: Final = 0
FIRST_EPOCH: Final = 0  # requests a new session
FINAL_EPOCH: Final = -1  # requests no session
_CLOSED: Final = -2  # epoch of no request
_TAKEN: Final = 200  # partitions in a step: 0.1 ms
_EPOCHS: Final = (1 << 31) - 1

# Key of a partition in a fetch: with the topic id from version 13 on, the name before.
FetchKey = tuple[TopicId | str, int]
_NONE: Final[Mapping[FetchKey, PartitionFetch]] = MappingProxyType({})


def next_epoch(epoch: int) -> int:
    """Return the next epoch of requests: from 1 to 2**31 - 1, then 1 again."""
    if epoch < 0:
        return FINAL_EPOCH
    return 1 if epoch == _EPOCHS else epoch + 1


@define(eq=False)
class SessionPartition:
    """State of one partition in a session.

    -1: nothing was sent yet. watched: the watched key.
    """

    key: FetchKey
    request: PartitionFetch
    high_watermark: int = -1
    start_offset: int = -1
    watched: Hashable | None = None

    def is_news(self, read: PartitionRead) -> bool:
        """Return whether an incremental answer must name the partition. Note what is sent."""
        news = read.size > 0 or read.diverging is not None
        if self.high_watermark != read.high_watermark:
            self.high_watermark = read.high_watermark
            news = True
        if self.start_offset != read.start_offset:
            self.start_offset = read.start_offset
            news = True
        if read.error is not None:
            self.high_watermark = -1  # report it again when the error is gone
            news = True
        return news


def _nothing() -> None:
    """End a session that is not in the cache."""


@define(eq=False, kw_only=True)
class Session:
    """Partitions of one client, in the order in which they are served next.

    id: NO_SESSION for a private session, which lives as long as its request. Times in seconds.
    attach, detach: begin and end calls of `marked` for a key.
    """

    id: int = NO_SESSION
    privileged: bool = False
    uses_ids: bool = True
    created: float = 0.0
    used: float = 0.0
    epoch: int = FIRST_EPOCH
    attach: "Callable[[Hashable, Session], None]"
    detach: "Callable[[Hashable, Session], None]"
    partitions: dict[FetchKey, SessionPartition] = field(factory=dict)
    dirty: dict[SessionPartition, None] = field(factory=dict)
    fresh: dict[SessionPartition, None] = field(factory=dict)
    waiting: Delayed[object] | None = None
    end: Callable[[], None] = _nothing  # removes it from the cache
    rest: Mapping[FetchKey, PartitionFetch] = _NONE  # of the first poll: see `take_rest`
    by_watched: dict[Hashable, SessionPartition] = field(factory=dict)

    @property
    def closed(self) -> bool:
        """True after `close`. The epoch says so: a fetch in flight sees it as any newer poll."""
        return self.epoch == _CLOSED

    def marked(self, key: Hashable) -> None:
        """Note a change of a watched partition, and wake the parked poll."""
        partition = self.by_watched.get(key)
        if partition is not None:
            self.dirty[partition] = None
            self.fresh[partition] = None
            if self.waiting is not None:
                self.waiting.marked(key)

    def watch(self, partition: SessionPartition, key: Hashable | None) -> None:
        """Watch `key` for a partition; None: nothing.

        A partition that was forgotten, or whose session is closed, is not watched again: nothing
        would end that.
        """
        if partition.watched is key:
            return
        if key is not None and self.partitions.get(partition.key) is not partition:
            return
        if partition.watched is not None:
            self.by_watched.pop(partition.watched, None)
            self.detach(partition.watched, self)
        partition.watched = key
        if key is not None:
            self.by_watched[key] = partition
            self.attach(key, self)

    def take_rest(self) -> Steps[None]:
        """Add the remaining partitions of the first poll."""
        partitions, self.rest = self.rest, _NONE
        for some in in_slices(partitions.items(), _TAKEN):
            self.update(dict(some), [])
            yield

    def update(
        self, partitions: Mapping[FetchKey, PartitionFetch], forget: Sequence[FetchKey]
    ) -> None:
        """Take over what a poll wants: new and changed partitions, and those that it drops."""
        for key, ask in partitions.items():
            partition = self.partitions.get(key)
            if partition is None:
                partition = self.partitions[key] = SessionPartition(key, ask)
            else:
                partition.request = ask
            self.dirty[partition] = None
        for key in forget:
            gone = self.partitions.pop(key, None)
            if gone is not None:
                self.watch(gone, None)
                self.dirty.pop(gone, None)
                self.fresh.pop(gone, None)

    def answer(
        self, reads: "list[tuple[SessionPartition, PartitionRead]]", *, full: bool
    ) -> "list[tuple[SessionPartition, PartitionRead]]":
        """Choose the parts of an answer from reads of all dirty partitions. Note them as sent.

        Partitions with bytes are served last next time; those without bytes and errors become
        clean. full: name every partition.
        """
        named = []
        for partition, read in reads:
            is_news = partition.is_news(read)
            if is_news or full:
                named.append((partition, read))
            if partition not in self.dirty:  # forgotten meanwhile
                continue
            if read.size or (read.is_idle and partition not in self.fresh):
                del self.dirty[partition]
            if read.size:
                self.dirty[partition] = None
                self.partitions[partition.key] = self.partitions.pop(partition.key)
        return named

    def close(self) -> None:
        """Stop watching, for good. A fetch in flight ends with an error."""
        self.epoch = _CLOSED
        for partition in self.partitions.values():
            self.watch(partition, None)
        self.partitions.clear()
        self.dirty.clear()
        self.fresh.clear()
        self.waiting = None
