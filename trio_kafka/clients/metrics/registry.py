"""All metrics of one client: declared once, read on demand.

Windows are shifted by `roll`, which requests call when they end, and by `read`: no task is needed.
"""

from collections import deque
from collections.abc import Callable, Iterator

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.metrics.measures import Distribution, Total
from trio_kafka.telemetry.metric import Metric, MetricName

Reading = Callable[[float], float]
"""Returns the value of a gauge at a time of Trio's clock; NaN: it has none."""


@define(eq=False)
class MetricRegistry:
    """Metrics of a client. start: time of its opening.

    window_s, samples: `metrics.sample.window.ms`, `metrics.num.samples`.
    """

    start: float
    window_s: float = 30.0
    samples: int = 2
    client_id: str = ""
    _next: float = field(init=False)
    _starts: deque[float] = field(init=False)
    _totals: list[tuple[MetricName, MetricName, Total]] = field(factory=list, init=False)
    _distributions: list[tuple[MetricName, MetricName, Distribution]] = field(
        factory=list, init=False
    )
    _readings: list[tuple[MetricName, Reading, bool]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self._starts = deque([self.start], maxlen=self.samples)
        self._next = self.start + self.window_s

    def group(self, name: str, **tags: str) -> "MetricGroup":
        """Return a group to declare metrics in. tags: with `_` for the `-` of Kafka's names."""
        named = {key.replace("_", "-"): value for key, value in tags.items()}
        named["client-id"] = self.client_id
        return MetricGroup(self, name, tuple(sorted(named.items())))

    def add_total(self, rate: MetricName, total: MetricName) -> Total:
        """Declare a count of events, and its rate."""
        measure = Total(self.samples)
        self._totals.append((rate, total, measure))
        return measure

    def add_distribution(self, average: MetricName, largest: MetricName) -> Distribution:
        """Declare the average and the maximum of values."""
        measure = Distribution(self.samples)
        self._distributions.append((average, largest, measure))
        return measure

    def add_reading(self, name: MetricName, read: Reading, *, is_total: bool = False) -> None:
        """Declare a value that is read when it is asked for. is_total: it only grows."""
        self._readings.append((name, read, is_total))

    def roll(self, now: float) -> None:
        """Begin the windows that have begun by `now`."""
        if now < self._next:
            return
        count = int((now - self._next) // self.window_s) + 1
        self._next += count * self.window_s
        for number in reversed(range(min(count, self.samples))):
            self._starts.append(self._next - (number + 1) * self.window_s)
            for _, _, total in self._totals:
                total.shift()
            for _, _, distribution in self._distributions:
                distribution.shift()

    def read(self, now: float) -> Iterator[Metric]:
        """Yield all metrics that have a value, or NaN for those without values lately."""
        self.roll(now)
        elapsed_s = self._elapsed_s(now)
        for rate, count, total in self._totals:
            yield Metric(name=rate, value=total.recent / elapsed_s)
            yield Metric(name=count, value=total.value, is_total=True)
        for average, largest, distribution in self._distributions:
            yield Metric(name=average, value=distribution.average)
            yield Metric(name=largest, value=distribution.largest)
        for name, read, is_total in self._readings:
            yield Metric(name=name, value=read(now), is_total=is_total)

    def _elapsed_s(self, now: float) -> float:
        """Return the time of a rate: all windows but one count in full from the start, as in Kafka.

        So the first event of a client is no rate of thousands a second.
        """
        elapsed_s = now - self._starts[0]
        missing = self.samples - 1 - int(elapsed_s // self.window_s)
        elapsed_s += max(missing, 0) * self.window_s
        return max(elapsed_s, self.window_s / 1000)


@frozen
class MetricGroup:
    """Names with a group and tags in common."""

    registry: MetricRegistry
    name: str
    tags: tuple[tuple[str, str], ...]

    def total(self, name: str) -> Total:
        """Declare `<name>-rate` (1/s) and `<name>-total`."""
        return self.registry.add_total(self._name(f"{name}-rate"), self._name(f"{name}-total"))

    def distribution(self, name: str) -> Distribution:
        """Declare `<name>-avg` and `<name>-max`."""
        average, largest = self._name(f"{name}-avg"), self._name(f"{name}-max")
        return self.registry.add_distribution(average, largest)

    def gauge(self, name: str, read: Reading) -> None:
        """Declare a value that is read when it is asked for."""
        self.registry.add_reading(self._name(name), read)

    def count(self, name: str, read: Reading) -> None:
        """Declare a count that is read when it is asked for."""
        self.registry.add_reading(self._name(name), read, is_total=True)

    def _name(self, name: str) -> MetricName:
        return MetricName(name, self.name, self.tags)
