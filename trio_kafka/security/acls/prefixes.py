"""Sorted prefixes: all stored prefixes of a name, longest first, by one binary search.

Every prefix knows the longest other prefix that it begins with, its parent. The predecessor of a
name in the sorted list begins with every stored prefix of the name, so these are among the
predecessor's ancestors. A look-up costs O(log n) comparisons and one step for each ancestor.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, Optional, TypeVar

from attrs import field

from trio_kafka.attributes import define

V = TypeVar("V")


@define(eq=False)
class Prefix(Generic[V]):
    """Stored prefix with its value. parent: the longest other stored prefix of its name."""

    name: str
    value: V
    parent: Optional["Prefix[V]"] = field(default=None, repr=False)


class PrefixMap(Generic[V]):
    """Mapping from prefixes to values."""

    def __init__(self) -> None:
        self._names: list[str] = []  # sorted
        self._prefixes: dict[str, Prefix[V]] = {}

    def __len__(self) -> int:
        return len(self._names)

    def __bool__(self) -> bool:
        return bool(self._names)

    def get(self, name: str) -> V | None:
        """Return the value of exactly this prefix."""
        prefix = self._prefixes.get(name)
        return None if prefix is None else prefix.value

    def longest(self, name: str) -> Prefix[V] | None:
        """Return the longest stored prefix of a name; its ancestors are all the others."""
        names = self._names
        place = bisect_right(names, name)
        if not place:
            return None
        prefix: Prefix[V] | None = self._prefixes[names[place - 1]]
        while prefix is not None and not name.startswith(prefix.name):
            prefix = prefix.parent
        return prefix

    def add(self, name: str, value: V) -> None:
        """Add a prefix that is not there yet. O(n) moves of memory, O(m) for m that begin so."""
        parent = self.longest(name)
        added = self._prefixes[name] = Prefix(name, value, parent)
        place = bisect_left(self._names, name)
        self._names.insert(place, name)
        for below in self._below(place + 1, name):
            if below.parent is parent:
                below.parent = added

    def remove(self, name: str) -> None:
        """Remove a prefix. Raises KeyError."""
        removed = self._prefixes.pop(name)
        place = bisect_left(self._names, name)
        del self._names[place]
        for below in self._below(place, name):
            if below.parent is removed:
                below.parent = removed.parent

    def _below(self, place: int, name: str) -> Iterator[Prefix[V]]:
        """Yield the prefixes from a place on that begin with a name."""
        while place < len(self._names) and self._names[place].startswith(name):
            yield self._prefixes[self._names[place]]
            place += 1
