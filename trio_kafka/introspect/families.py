"""What is measured, as it is given to others: families of samples, read at one time.

A family is what Prometheus calls one: a name, a kind, and a value for each set of labels. Labels
and values stand in two lists, position by position; families of the same things share the list of
labels, so that 10,000 partitions cost one of it and not ten.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Protocol

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.introspect.metrics import Labels


class Kind(StrEnum):
    """How values change: they only grow, they do as they like, or they are a distribution's."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


@define(eq=False, kw_only=True)
class Family:
    """name: of the samples; those of a summary have a suffix besides, `_count` or `_sum`, or the
    label `quantile`. labels, values, and of a summary suffixes, go together.
    """

    name: str
    kind: Kind
    help: str
    labels: list[Labels] = Factory(list)
    values: list[float] = Factory(list)
    suffixes: list[str] = Factory(list)

    def add(self, value: float, labels: Labels = (), suffix: str = "") -> None:
        """One more sample."""
        self.labels.append(labels)
        self.values.append(value)
        if self.kind is Kind.SUMMARY:
            self.suffixes.append(suffix)

    def __len__(self) -> int:
        return len(self.values)

    def samples(self) -> Iterator[tuple[str, Labels, float]]:
        """Each with its whole name."""
        for number, (labels, value) in enumerate(zip(self.labels, self.values, strict=True)):
            suffix = self.suffixes[number] if self.suffixes else ""
            yield self.name + suffix, labels, value


class MetricsReporter(Protocol):
    """Who wants to be told of metrics."""

    def report(self, families: Sequence[Family], /) -> None:
        """Take what was measured just now. It never waits: what takes long belongs to a task."""
