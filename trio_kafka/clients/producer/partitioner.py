"""Choice of partitions: by the key, or sticky without one. Does no I/O.

Without a key records go to one partition until it has got about `batch.size` bytes, then to another
one, so that batches fill (KIP-480). Partitions with long queues are chosen less often, so that a
slow broker does not slow the others down (KIP-794). The switch is put off, up to twice the size,
while it would leave behind a batch that is not full.
Source: BuiltInPartitioner of Apache Kafka 4.4.0.
"""

from bisect import bisect_right
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from random import Random  # noqa: TID251 - that of the world
from typing import Final, Protocol

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import Place, SerializationError
from trio_kafka.clients.metadata.values import TopicMetadata
from trio_kafka.records.partitioner import partition_of

_MOST_CACHED: Final = 1 << 14  # keys whose partitions are kept


class Partitioner(Protocol):
    """A partitioner of a user. Returns a partition below `count`."""

    def __call__(self, topic: str, key: bytes | None, value: bytes | None, count: int) -> int: ...


@define(eq=False, kw_only=True)
class StickyPartitioner:
    """Partition of the records of one topic that have no key.

    size: bytes after which the partition changes. random: of the world.
    loads: returns for each candidate how many batches are queued for it; None: choose evenly.
    """

    size: int
    random: Random
    loads: Callable[[Sequence[int]], Sequence[int]] | None
    partition: int | None = field(default=None, init=False)
    _bytes: int = field(default=0, init=False)

    def choose(self, candidates: Sequence[int]) -> int:
        """Return the current partition. candidates: of which one is chosen, at least one."""
        if self.partition is None or self.partition not in candidates:
            self.partition = self._draw(candidates)
            self._bytes = 0
        return self.partition

    def added(self, size: int, *, is_full: bool) -> None:
        """Note that bytes went to the partition. is_full: its latest batch takes no more."""
        self._bytes += size
        if (self._bytes >= self.size and is_full) or self._bytes >= 2 * self.size:
            self.partition = None

    def _draw(self, candidates: Sequence[int]) -> int:
        if self.loads is None or len(candidates) == 1:
            return candidates[self.random.randrange(len(candidates))]
        loads = self.loads(candidates)
        most = max(loads) + 1
        weights = list(accumulate(most - load for load in loads))
        return candidates[bisect_right(weights, self.random.randrange(weights[-1]))]


@define(eq=False, kw_only=True)
class PartitionChoice:
    """Choice of partitions for all topics of a producer.

    by_user: partitioner of the user, or None. ignores_keys: records with a key are treated as those
    without. size, random: see `StickyPartitioner`. queued: returns how many batches of a topic's
    partition wait; None: choose evenly.
    """

    by_user: Partitioner | None
    ignores_keys: bool
    size: int
    random: Random
    queued: Callable[[str, int], int] | None
    _sticky: dict[str, StickyPartitioner] = field(factory=dict, init=False)
    _cached: dict[bytes | None, int] = field(factory=dict, init=False)
    _count: int = field(default=0, init=False)

    def choose(self, topic: TopicMetadata, key: bytes | None, value: bytes | None) -> int:
        """Return the partition of a record. Raises SerializationError, see `by_user`."""
        count = len(topic.partitions)
        if self.by_user is not None:
            return _checked(self.by_user, topic.name, key, value, count=count)
        if key is not None and not self.ignores_keys:
            return partition_of(key, count)
        sticky = self._sticky.get(topic.name)
        if sticky is None:
            sticky = self._sticky[topic.name] = self._new_sticky(topic.name)
        return sticky.choose(topic.led or list(topic.partitions))

    def choose_many(
        self,
        topic: TopicMetadata,
        keys: Sequence[bytes | None] | None,
        values: Sequence[bytes | None],
    ) -> Sequence[int] | None:
        """Return the partitions of records; None: `choose` one for each batch. Raises as that.

        keys: as many as values; None: all are null.
        """
        if self.by_user is None and (keys is None or self.ignores_keys):
            return None
        keys = [None] * len(values) if keys is None else keys
        if self.by_user is not None:
            return [self.choose(topic, *pair) for pair in zip(keys, values, strict=True)]
        if len(topic.partitions) == 1:
            return [0] * len(values)
        return list(map(self._by_key(topic, keys).__getitem__, keys))

    def added(self, topic: str, partition: int, size: int, *, is_full: bool) -> None:
        """Note that a record went to a partition. See `StickyPartitioner.added`."""
        sticky = self._sticky.get(topic)
        if sticky is not None and sticky.partition == partition:
            sticky.added(size, is_full=is_full)

    def _by_key(
        self, topic: TopicMetadata, keys: Sequence[bytes | None]
    ) -> Mapping[bytes | None, int]:
        """Return the partitions of keys, and of many that came before: keys come again."""
        count = len(topic.partitions)
        if self._count != count or len(self._cached) > _MOST_CACHED:
            self._count, self._cached = count, {}
        cached, distinct = self._cached, {*keys}
        for key in distinct.difference(cached):
            if key is not None:
                cached[key] = partition_of(key, count)
        if None not in distinct:
            return cached
        # The partition of null keys changes from time to time.
        return {**cached, None: self.choose(topic, None, None)}

    def _new_sticky(self, topic: str) -> StickyPartitioner:
        queued = self.queued

        def loads(candidates: Sequence[int]) -> list[int]:
            return [0 if queued is None else queued(topic, number) for number in candidates]

        return StickyPartitioner(
            size=max(self.size, 1), random=self.random, loads=None if queued is None else loads
        )


def _checked(
    partitioner: Partitioner, topic: str, key: bytes | None, value: bytes | None, *, count: int
) -> int:
    place = Place(topic=topic)
    try:
        partition: object = partitioner(topic, key, value, count)
    except Exception as error:
        reason = f"the partitioner has raised {type(error).__name__}: {error}"
        raise SerializationError(reason, place=place) from error
    if not isinstance(partition, int) or not 0 <= partition < count:
        reason = f"the partitioner has returned {partition!r}: want 0 to {count - 1}"
        raise SerializationError(reason, place=place)
    return partition
