"""A mapping that is copied by what changes in it, not by its size.

A base that is never written again, and a small layer of changes over it. A new generation copies
the layer only; when the layer outgrows the square root of the base the two become a new base. So
one change in n entries costs O(sqrt n) on average, where a copy of a dict of 100,000 entries would
hold the loop for 2 ms with every change. Order: as inserted; an entry that is replaced keeps its
place until the layers merge, and after.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final, Generic, TypeVar, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_SMALL: Final = 256  # changes that are worth copying whatever the size of the base


class ImmutableMap(Mapping[K, V], Generic[K, V]):
    """Immutable. Values are never None: in the layer of changes None is a removal."""

    __slots__ = ("_base", "_changes", "_length")

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        self._base: dict[K, V] = dict(entries) if entries else {}
        self._changes: dict[K, V | None] = {}
        self._length = len(self._base)

    def updated(self, changes: Mapping[K, V | None]) -> "ImmutableMap[K, V]":
        """This map with entries added, replaced and (None) removed; itself when there are none."""
        if not changes:
            return self
        grown: ImmutableMap[K, V] = ImmutableMap()
        grown._base = self._base
        grown._changes = {**self._changes, **changes}
        if len(grown._changes) > _SMALL and len(grown._changes) ** 2 > len(self._base):
            grown._base = _merged(self._base, grown._changes)
            grown._changes = {}
            grown._length = len(grown._base)
            return grown
        length = self._length
        for key, value in changes.items():
            length += (value is not None) - (key in self)
        grown._length = length
        return grown

    def __getitem__(self, key: K) -> V:
        if key in self._changes:
            value = self._changes[key]
            if value is None:
                raise KeyError(key)
            return value
        return self._base[key]

    @overload
    def get(self, key: K, /) -> V | None: ...

    @overload
    def get(self, key: K, /, default: V | D) -> V | D: ...

    def get(self, key: K, /, default: V | D | None = None) -> V | D | None:
        """As of any mapping, without an error in between: requests ask for topics this way."""
        if key in self._changes:
            value = self._changes[key]
            return default if value is None else value
        return self._base.get(key, default)

    def __contains__(self, key: object) -> bool:
        if key in self._changes:
            return self._changes[key] is not None
        return key in self._base

    def __iter__(self) -> Iterator[K]:
        changes = self._changes
        if not changes:
            yield from self._base
            return
        for key in self._base:
            if key not in changes or changes[key] is not None:
                yield key
        for key, value in changes.items():
            if value is not None and key not in self._base:
                yield key

    def __len__(self) -> int:
        return self._length

    def __repr__(self) -> str:
        return f"ImmutableMap({dict(self.items())!r})"


def _merged(base: dict[K, V], changes: dict[K, V | None]) -> dict[K, V]:
    """A new base: copied whole, which is far quicker than entry by entry."""
    merged: dict[K, Any] = {**base, **changes}
    for key, value in changes.items():
        if value is None:
            del merged[key]
    return merged
