"""Metric families, as reporters get them: samples that were read at one time.

A family is a Prometheus family: a name, a kind, and a value for each set of labels. Labels and
values are two parallel lists. Families of the same things share the list of labels, which saves
memory with 10,000 partitions.
"""

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Protocol

from attrs import Factory

from trio_kafka.attributes import define
from trio_kafka.introspect.metrics import Labels


class Kind(StrEnum):
    """Type of a metric: values that only grow, values of a moment, a distribution."""

    COUNTER = "counter"
    GAUGE = "gauge"
    SUMMARY = "summary"


@define(eq=False, kw_only=True)
class Family:
    """One metric with its samples.

    name: of the samples; those of a summary also have a suffix, `_count` or `_sum`, or the label
        `quantile`. labels, values, and suffixes of a summary, are parallel lists.
    """

    name: str
    kind: Kind
    help: str
    labels: list[Labels] = Factory(list)
    values: list[float] = Factory(list)
    suffixes: list[str] = Factory(list)

    def add(self, value: float, labels: Labels = (), suffix: str = "") -> None:
        """Add a sample."""
        self.labels.append(labels)
        self.values.append(value)
        if self.kind is Kind.SUMMARY:
            self.suffixes.append(suffix)

    def __len__(self) -> int:
        return len(self.values)

    def samples(self) -> Iterator[tuple[str, Labels, float]]:
        """Yield each sample with its full name."""
        for number, (labels, value) in enumerate(zip(self.labels, self.values, strict=True)):
            suffix = self.suffixes[number] if self.suffixes else ""
            yield self.name + suffix, labels, value


class MetricsReporter(Protocol):
    """Receiver of metrics."""

    def report(self, families: Sequence[Family], /) -> None:
        """Report samples. Never waits: a reporter does slow work in a task."""
