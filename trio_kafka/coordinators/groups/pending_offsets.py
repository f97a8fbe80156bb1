"""Offsets that transactions have committed and whose marker is still to come.

A regular commit that comes later counts more, whatever the marker says then; so does a later one
of another transaction that ends first. Until all transactions of a partition have ended its offset
is unstable. Source: KIP-98, KIP-447.
"""

from collections.abc import Callable, Iterator
from typing import TypeAlias

from trio_kafka.attributes import define
from trio_kafka.protocol.stored.groups.classic import OffsetCommitKey, OffsetCommitValue

OffsetKey: TypeAlias = tuple[str, str, int]  # group, topic, partition


@define
class _Uncommitted:
    """order: the later one is the greater. value: None where a regular commit came after it."""

    order: int
    value: OffsetCommitValue | None


class PendingOffsets:
    """by_key: which producers have something pending there; nearly always empty,
    for whoever has no time to look.
    """

    def __init__(self, put: Callable[[OffsetCommitKey, OffsetCommitValue], None]) -> None:
        """put: store an offset that is committed."""
        self._put = put
        self._by_producer: dict[int, dict[OffsetKey, _Uncommitted]] = {}
        self.by_key: dict[OffsetKey, dict[int, None]] = {}
        self._taken: dict[OffsetKey, int] = {}  # the order of what was taken while others were open
        self._order = 0

    @property
    def open(self) -> int:
        return len(self.by_key)

    def is_open(self, group_id: str, topic: str, partition: int) -> bool:
        """Whether its offset may still change without a new commit."""
        return (group_id, topic, partition) in self.by_key

    def of_group(self, group_id: str) -> Iterator[tuple[str, int]]:
        """Topic and partition of what is open."""
        for group, topic, partition in self.by_key:
            if group == group_id:
                yield topic, partition

    def values(self) -> Iterator[tuple[OffsetKey, OffsetCommitValue]]:
        """What would be stored where, were all transactions committed; older ones come too."""
        for waiting in self._by_producer.values():
            for key, one in waiting.items():
                if one.value is not None:
                    yield key, one.value

    def has_group(self, group_id: str) -> bool:
        return any(True for _ in self.of_group(group_id))

    def add(self, producer_id: int, key: OffsetCommitKey, value: OffsetCommitValue) -> None:
        """A transaction of this producer commits an offset."""
        place = (key.group, key.topic, key.partition)
        self._order += 1
        self._by_producer.setdefault(producer_id, {})[place] = _Uncommitted(self._order, value)
        self.by_key.setdefault(place, {})[producer_id] = None

    def overtake(self, key: OffsetCommitKey) -> None:
        """A regular commit has come: what is pending now is older."""
        place = (key.group, key.topic, key.partition)
        for producer_id in self.by_key.get(place, ()):
            self._by_producer[producer_id][place].value = None

    def forget(self, key: OffsetCommitKey) -> None:
        """The offset was deleted."""
        self._forget((key.group, key.topic, key.partition))

    def _forget(self, key: OffsetKey) -> None:
        for producer_id in self.by_key.pop(key, ()):
            keys = self._by_producer[producer_id]
            del keys[key]
            if not keys:
                del self._by_producer[producer_id]
        self._taken.pop(key, None)

    def end(self, producer_id: int, *, committed: bool) -> None:
        """The marker of its transaction. One that committed no offsets is no concern."""
        for key, one in self._by_producer.pop(producer_id, {}).items():
            waiting = self.by_key[key]
            del waiting[producer_id]
            value = one.value
            if committed and value is not None and one.order > self._taken.get(key, 0):
                self._put(OffsetCommitKey(*key), value)
                self._taken[key] = one.order
            if not waiting:
                del self.by_key[key]
                self._taken.pop(key, None)
