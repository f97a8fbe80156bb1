"""Metrics that are declared once, and their values of one time.

A `Metric` is declared beside the code that reads it, by Kafka's bean or as one of our own; its
name, kind and labels follow. `Readings` gathers one look, within a bound of series: what grows with
topics, partitions and whatever clients choose asks for room first.
"""

from attrs import frozen

from trio_kafka.introspect.metrics import Labels
from trio_kafka.plugin import Family, Kind
from trio_kafka_metrics.names import QUANTILES, exposed, quantile_label


@frozen(kw_only=True)
class Metric:
    """bean, attribute: Kafka's; empty for one of our own."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bean: str = ""
    attribute: str = ""

    def with_values(self, *values: str) -> Labels:
        """Labels, of their values in the order of their names."""
        return tuple(zip(self.labels, values, strict=True))

    def family(self) -> Family:
        """Without samples."""
        return Family(name=self.name, kind=self.kind, help=self.help)


def of_bean(bean: str, told: str, attribute: str = "Value") -> Metric:
    """What Kafka shows as an attribute of a bean. Raises UnnamedError."""
    made = exposed(bean, attribute)
    return Metric(
        name=made.name,
        kind=made.kind,
        help=told,
        labels=made.labels,
        bean=bean,
        attribute=attribute,
    )


def own(name: str, kind: Kind, told: str, *labels: str) -> Metric:
    """One that Kafka does not have."""
    return Metric(name=f"trio_kafka_{name}", kind=kind, help=told, labels=labels)


class Readings:
    """Of one look. most: series that may ask for room; dropped: how many found none."""

    def __init__(self, most: int) -> None:
        self.families: dict[str, Family] = {}
        self.dropped = 0
        self._room = most

    def take(self, series: int) -> bool:
        """Whether there is room for so many."""
        if series > self._room:
            self.dropped += series
            return False
        self._room -= series
        return True

    def family(self, metric: Metric) -> Family:
        """The samples of a metric, to be added to."""
        family = self.families.get(metric.name)
        if family is None:
            family = self.families[metric.name] = metric.family()
        return family

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """One sample."""
        self.family(metric).add(value, metric.with_values(*labels))

    def column(self, metric: Metric, labels: list[Labels]) -> list[float]:
        """The values of a new family that shares its labels with others: fill both alike."""
        family = self.family(metric)
        family.labels = labels
        return family.values

    def summary(
        self,
        metric: Metric,
        labels: Labels,
        count: int,
        *,
        total: float | None = None,
        quantiles: tuple[float, ...] = (),
    ) -> None:
        """A distribution. total: the sum of its values. quantiles: those of `QUANTILES`."""
        family = self.family(metric)
        for quantile, value in zip(QUANTILES, quantiles, strict=False):
            family.add(value, (*labels, ("quantile", quantile_label(quantile))))
        family.add(count, labels, "_count")
        if total is not None:
            family.add(total, labels, "_sum")
