"""Immutable mapping that is copied at the cost of its changes, not of its size.

It consists of a base that is never changed and a small layer of changes. `updated` copies the layer
only. When the layer outgrows the square root of the base, both are merged into a new base. So one
change in n entries costs O(sqrt n) on average; copying a dict of 100,000 entries would hold the
loop for 2 ms. Iteration is in insertion order; a replaced entry keeps its place.
"""

from collections.abc import Iterator, Mapping
from typing import Final, Generic, TypeVar, cast, overload

K = TypeVar("K")
V = TypeVar("V")
D = TypeVar("D")

_SMALL: Final = 256  # changes that are copied for a base of any size


class ImmutableMap(Mapping[K, V], Generic[K, V]):
    """Immutable mapping. A value is never None, which marks a removal in the layer."""

    __slots__ = ("_base", "_changes", "_length")

    def __init__(self, entries: Mapping[K, V] | None = None) -> None:
        self._base: dict[K, V] = dict(entries) if entries else {}
        self._changes: dict[K, V | None] = {}
        self._length = len(self._base)

    def updated(self, changes: Mapping[K, V | None]) -> "ImmutableMap[K, V]":
        """Return a map with entries added, replaced and (None) removed; itself without changes."""
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
        base, layer = self._base, self._changes
        grown._length = self._length
        for key, value in changes.items():
            is_old = layer[key] is not None if key in layer else key in base
            grown._length += (value is not None) - is_old
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
        """Return an entry or `default`, without raising KeyError inside: requests use it often."""
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
    """Return a new base. Copying it as a whole is much faster than entry by entry."""
    merged = {**base, **changes}
    for key, value in changes.items():
        if value is None:
            del merged[key]
    return cast("dict[K, V]", merged)
