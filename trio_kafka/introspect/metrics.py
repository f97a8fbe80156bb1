"""Counters for operators, by name and labels.

Code that counts often keeps the `Counter` and adds to its `value`. Labels come from closed sets,
never from a peer: each combination is kept for good.
"""

from collections.abc import Iterator

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.introspect.tree import Figures

Labels = tuple[tuple[str, str], ...]


@define(eq=False)
class Counter:
    """One counter; add to `value`."""

    value: int = 0


@frozen
class Reading:
    """Value of a counter at one moment."""

    name: str
    labels: Labels
    value: int


@define(eq=False)
class Counters:
    """All counters of one node."""

    _counters: dict[tuple[str, Labels], Counter] = field(factory=dict, init=False)

    def counter(self, name: str, **labels: str) -> Counter:
        """Return the counter of a name and labels; made at the first call."""
        key = (name, tuple(sorted(labels.items())))
        counter = self._counters.get(key)
        if counter is None:
            counter = self._counters[key] = Counter()
        return counter

    def add(self, name: str, amount: int = 1, **labels: str) -> None:
        self.counter(name, **labels).value += amount

    def value(self, name: str, **labels: str) -> int:
        """Return the value under exactly these labels; 0 if it was never counted."""
        counter = self._counters.get((name, tuple(sorted(labels.items()))))
        return 0 if counter is None else counter.value

    def total(self, name: str) -> int:
        """Return the sum over all labels."""
        return sum(reading.value for reading in self if reading.name == name)

    def figures(self) -> Figures:
        """Return figures `name.label.label`, labels in the order of their names."""
        return {
            ".".join((row.name, *(text for _, text in row.labels))).replace(" ", "-"): row.value
            for row in self
        }

    def __iter__(self) -> Iterator[Reading]:
        for (name, labels), counter in self._counters.items():
            yield Reading(name, labels, counter.value)
