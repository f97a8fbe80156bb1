"""Offsets committed by transactions whose end marker has not come yet.

A later commit without a transaction wins, whatever the marker says. So does a later one of another
transaction that ends first. A partition's offset is unstable until all its transactions have ended.
Source: KIP-98, KIP-447.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from trio_kafka.attributes import define
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 200  # offsets that are committed in one step: 0.3 ms
OffsetKey: TypeAlias = tuple[str, str, int]  # group, topic, partition


@define
class _Uncommitted:
    """One pending offset. order: the greater one is later. value: None if a regular commit came
    after it.
    """

    order: int
    value: OffsetCommitValue | None


class PendingOffsets:
    """by_key: ids of the producers with a pending offset there; nearly always empty."""

    def __init__(self, put: Callable[[OffsetCommitKey, OffsetCommitValue], None]) -> None:
        """put: store an offset that is committed."""
        self._put = put
        self._by_producer: dict[int, dict[OffsetKey, _Uncommitted]] = {}
        self.by_key: dict[OffsetKey, dict[int, None]] = {}
        self._by_group: dict[str, dict[OffsetKey, None]] = {}  # the same keys
        self._taken: dict[
            OffsetKey, int
        ] = {}  # order of the offset that was stored while others were open
        self._order = 0

    @property
    def open(self) -> int:
        """Number of partitions with pending offsets."""
        return len(self.by_key)

    def is_open(self, group_id: str, topic: str, partition: int) -> bool:
        """Return whether the offset may change without a new commit."""
        return (group_id, topic, partition) in self.by_key

    def of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Yield topic and partition of the pending offsets of a group."""
        for _, topic, partition in self._by_group.get(group_id, ()):
            yield topic, partition

    def values(self) -> Iterator[tuple[OffsetKey, OffsetCommitValue]]:
        """Yield the offsets that would be stored if all transactions committed, older ones
        included.
        """
        for waiting in self._by_producer.values():
            for key, offset in waiting.items():
                if offset.value is not None:
                    yield key, offset.value

    def has_group(self, group_id: str) -> bool:
        """Return whether a group has pending offsets."""
        return group_id in self._by_group

    def add(self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        """Note an offset that a transaction of this producer commits."""
        place = (key.group, key.topic, key.partition)
        self._order += 1
        self._by_producer.setdefault(producer_id, {})[place] = _Uncommitted(self._order, value)
        waiting = self.by_key.get(place)
        if waiting is None:
            waiting = self.by_key[place] = {}
            self._by_group.setdefault(key.group, {})[place] = None
        waiting[producer_id] = None

    def overtake(self, key: OffsetCommitKey) -> None:
        """Note a regular commit: pending offsets are older."""
        place = (key.group, key.topic, key.partition)
        for producer_id in self.by_key.get(place, ()):
            self._by_producer[producer_id][place].value = None

    def forget(self, key: OffsetCommitKey) -> None:
        """Note that the offset was deleted."""
        place = (key.group, key.topic, key.partition)
        if place not in self.by_key:
            return
        for producer_id in self._remove(place):
            places = self._by_producer[producer_id]
            del places[place]
            if not places:
                del self._by_producer[producer_id]

    def end(self, producer_id: int, *, committed: bool) -> Steps[None]:
        """Apply the end marker of a transaction. It may have committed no offsets."""
        ended = self._by_producer.pop(producer_id, {})
        for number, (key, offset) in enumerate(ended.items(), 1):
            if not number % _A_STEP:
                yield
            waiting = self.by_key[key]
            del waiting[producer_id]
            value = offset.value
            if committed and value is not None and offset.order > self._taken.get(key, 0):
                self._put(OffsetCommitKey(*key), value)
                self._taken[key] = offset.order
            if not waiting:
                self._remove(key)

    def _remove(self, key: OffsetKey) -> dict[int, None]:
        """Remove a key that has no pending offset any more; return its producers."""
        keys = self._by_group[key[0]]
        del keys[key]
        if not keys:
            del self._by_group[key[0]]
        self._taken.pop(key, None)
        return self.by_key.pop(key)
