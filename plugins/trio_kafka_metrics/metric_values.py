"""Declared metrics, and their values at one time.

A `Metric` is declared beside the code that reads it, by Kafka's bean or as our own; name, kind and
labels follow from that. `MetricValues` holds one collection, within a bound of series: metrics that
grow with topics, partitions and texts of clients reserve room first.
"""

from attrs import frozen

from trio_kafka.introspect.metrics import Labels
from trio_kafka.plugin import Family, Kind
from trio_kafka_metrics.names import QUANTILES, exposed, quantile_label


@frozen(kw_only=True)
class Metric:
    """A declared metric. bean, attribute: Kafka's; empty for our own."""

    name: str
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    bean: str = ""
    attribute: str = ""

    def with_values(self, *values: str) -> Labels:
        """Return labels from values in the order of the names."""
        return tuple(zip(self.labels, values, strict=True))

    def family(self) -> Family:
        """Return a family without samples."""
        return Family(name=self.name, kind=self.kind, help=self.help)


def of_bean(bean: str, help_text: str, attribute: str = "Value") -> Metric:
    """Declare the metric of a bean's attribute. Raises UnnamedError."""
    exposed_name = exposed(bean, attribute)
    return Metric(
        name=exposed_name.name,
        kind=exposed_name.kind,
        help=help_text,
        labels=exposed_name.labels,
        bean=bean,
        attribute=attribute,
    )


def native(name: str, kind: Kind, help_text: str, *labels: str) -> Metric:
    """Declare a metric that Kafka does not have."""
    return Metric(name=f"trio_kafka_{name}", kind=kind, help=help_text, labels=labels)


class MetricValues:
    """Values of one collection. most: series that can be reserved; dropped: series without room."""

    def __init__(self, most: int) -> None:
        self.families: dict[str, Family] = {}
        self.dropped = 0
        self._room = most

    def take(self, series: int) -> bool:
        """Reserve room for a number of series; False: there is none."""
        if series > self._room:
            self.dropped += series
            return False
        self._room -= series
        return True

    def family(self, metric: Metric) -> Family:
        """Return the list of a metric's samples, to be appended to."""
        family = self.families.get(metric.name)
        if family is None:
            family = self.families[metric.name] = metric.family()
        return family

    def set(self, metric: Metric, value: float, *labels: str) -> None:
        """Add a sample of a metric, with its label values."""
        self.family(metric).add(value, metric.with_values(*labels))

    def column(self, metric: Metric, labels: list[Labels]) -> list[float]:
        """Return the value list of a new family that shares its label list: fill both alike."""
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
        """Add a distribution. total: sum of its values. quantiles: values for `QUANTILES`."""
        family = self.family(metric)
        for quantile, value in zip(QUANTILES, quantiles, strict=False):
            family.add(value, (*labels, ("quantile", quantile_label(quantile))))
        family.add(count, labels, "_count")
        if total is not None:
            family.add(total, labels, "_sum")
