"""Content of a push: the metrics that are asked for, as totals or as what was added. No I/O."""

from collections.abc import Iterable, Sequence
from math import isnan

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.telemetry.metric import (
    Metric,
    MetricName,
    Point,
    is_requested,
    pushed_attributes,
    pushed_name,
)


@define(eq=False)
class Deltas:
    """Totals of the last push, for pushes that say what was added since. start_s: of the client."""

    start_s: float
    _last: dict[MetricName, tuple[float, float]] = field(factory=dict, init=False)

    def clear(self) -> None:
        """Begin anew: the next push says all."""
        self._last.clear()

    def points(
        self, metrics: Iterable[Metric], prefixes: Sequence[str], time_s: float, *, is_delta: bool
    ) -> list[Point]:
        """Return the points of a push. time_s: of the wall clock. Values that are NaN stay out.

        The client id is no attribute: the broker knows it.
        """
        points = []
        for metric in metrics:
            name = pushed_name(metric.name)
            if isnan(metric.value) or not is_requested(name, prefixes):
                continue
            value, start_s = metric.value, self.start_s
            if metric.is_total and is_delta:
                before, start_s = self._last.get(metric.name, (0.0, self.start_s))
                self._last[metric.name] = metric.value, time_s
                value -= before
            attributes = pushed_attributes(metric.name)
            attributes.pop("client_id", None)
            points.append(
                Point(
                    name=name,
                    value=value,
                    attributes=attributes,
                    time_s=time_s,
                    start_s=start_s if metric.is_total else time_s,
                    is_sum=metric.is_total,
                    is_delta=metric.is_total and is_delta,
                )
            )
        return points
