"""One collection of all metrics, in slices that leave the loop responsive."""

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from trio_kafka.introspect.log import Logger
from trio_kafka.plugin import Family, Kind
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka_metrics import (
    cleaner,
    cluster,
    groups,
    native_metrics,
    network,
    pushed,
    replicas,
    requests,
    traffic,
    transactions,
)
from trio_kafka_metrics.metric_values import Metric, MetricValues, native
from trio_kafka_metrics.requests import RequestMetrics

T = TypeVar("T")
SLICE_S: Final = 0.002

SERIES = native("metrics_series", Kind.GAUGE, "Series of this collection, without these last ones.")
DROPPED = native(
    "metrics_series_dropped", Kind.GAUGE, "Series above plugin.metrics.max.series, omitted."
)
SLICE = native(
    "metrics_slice_seconds_max", Kind.GAUGE, "Longest slice of a collection since the start."
)
COLLECTIONS = native("metrics_looks_total", Kind.COUNTER, "Collections, for scrapes and reports.")

_SOURCES: Final = (
    (traffic, traffic.read_traffic),
    (network, network.read_network),
    (cluster, cluster.read_cluster),
    (native_metrics, native_metrics.read_native),
    (replicas, replicas.read_replicas),
    (cleaner, cleaner.read_cleaner),
    (groups, groups.read_groups),
    (transactions, transactions.read_transactions),
    (pushed, pushed.read_pushed),
)


def catalogue() -> list[Metric]:
    """Return every declared metric, in the order of the sources; counters are not among them."""
    metrics: dict[str, Metric] = {}
    of_collection = (SERIES, DROPPED, SLICE, COLLECTIONS)
    for module in (*(module for module, _ in _SOURCES), requests):
        for value in vars(module).values():
            for metric in value if isinstance(value, tuple) else (value,):
                if isinstance(metric, Metric):
                    metrics.setdefault(f"{metric.bean} {metric.attribute} {metric.name}", metric)
    return [*metrics.values(), *of_collection]


class Collection:
    """Collections, one at a time or concurrent. most: series of topics, partitions, counters and
    clients in one collection; further ones are omitted, counted and logged once.
    """

    def __init__(
        self,
        parts: Parts,
        request_metrics: RequestMetrics | None,
        *,
        most: int,
        elapsed: Callable[[], float],
        logger: Logger,
    ) -> None:
        self.longest_s = 0.0
        self.looks = 0
        self._parts = parts
        self._request_metrics = request_metrics
        self._most = most
        self._elapsed = elapsed
        self._logger = logger
        self._is_reported = False

    async def look(self) -> list[Family]:
        """Return all families, each once."""
        return await self.in_slices(self._read())

    async def in_slices(self, steps: Steps[T]) -> T:
        """Run steps and return their result; other tasks run every two milliseconds."""
        elapsed = self._elapsed
        while True:
            began = elapsed()
            done = advance(steps, elapsed, began + SLICE_S)
            self.longest_s = max(self.longest_s, elapsed() - began)
            await trio.lowlevel.checkpoint()
            if done is not None:
                return done.value

    def _read(self) -> Steps[list[Family]]:
        collected = MetricValues(self._most)
        if self._request_metrics is not None:
            yield from self._request_metrics.read(collected)
        for _, read in _SOURCES:
            yield from read(self._parts, collected)
        self.looks += 1
        collected.set(SERIES, sum(map(len, collected.families.values())))
        collected.set(DROPPED, collected.dropped)
        collected.set(SLICE, self.longest_s)
        collected.set(COLLECTIONS, self.looks)
        if collected.dropped and not self._is_reported:
            self._is_reported = True
            self._logger.warning(
                "metric series omitted",
                dropped=collected.dropped,
                setting="plugin.metrics.max.series",
                most=self._most,
            )
        return list(collected.families.values())
