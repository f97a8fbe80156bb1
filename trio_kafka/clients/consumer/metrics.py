"""Metrics of consumers.

Source: FetchMetricsRegistry and ConsumerCoordinatorMetrics of Apache Kafka 4.4.0. Bytes count when
they are fetched, records when they are handed out.
"""

from collections.abc import Callable
from math import nan
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.consumer.partition_state import PartitionState
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.metrics.measures import Distribution, Total
from trio_kafka.clients.metrics.registry import MetricRegistry

_FETCHES: Final = "consumer-fetch-manager-metrics"
_CONSUMER: Final = "consumer-metrics"
_COORDINATOR: Final = "consumer-coordinator-metrics"


@define(eq=False)
class ConsumerMetrics:
    """Counters of a consumer. Times are in ms. is_committed_only: the lag ends at the last stable
    offset."""

    registry: MetricRegistry
    positions: Positions
    is_committed_only: bool = False
    records: Total = field(init=False)
    interceptor_errors: Total = field(init=False)
    _consumed: Total = field(init=False)
    _fetches: Total = field(init=False)
    _latency: Distribution = field(init=False)
    _size: Distribution = field(init=False)
    _throttle: Distribution = field(init=False)

    def __attrs_post_init__(self) -> None:
        group = self.registry.group(_FETCHES)
        self.records = group.total("records-consumed")
        self._consumed = group.total("bytes-consumed")
        self._fetches = group.total("fetch")
        self._latency = group.distribution("fetch-latency")
        self._size = group.distribution("fetch-size")
        self._throttle = group.distribution("fetch-throttle-time")
        group.gauge("records-lag-max", self._largest_lag)
        self.interceptor_errors = self.registry.group(_CONSUMER).total("interceptor-error")

    def note_fetch(self, *, latency_s: float, size: int, throttle_ms: int) -> None:
        """Count a response to a Fetch. size: bytes of batches that were taken from it."""
        self._fetches.value += 1
        self._latency.record(latency_s * 1000)
        self._size.record(size)
        self._consumed.value += size
        self._throttle.record(throttle_ms)

    def read_group(self, commits: Callable[[], int], rebalances: Callable[[], int]) -> None:
        """Declare the values of a group."""
        group = self.registry.group(_COORDINATOR)
        group.gauge("assigned-partitions", lambda _: len(self.positions.states))
        group.count("commit-total", lambda _: commits())
        group.count("rebalance-total", lambda _: rebalances())

    def lag(self, state: PartitionState) -> int | None:
        """Return the number of records behind the position of a partition; None: not known yet."""
        end = state.last_stable if self.is_committed_only else state.high_watermark
        if end is None or state.position is None:
            return None
        return max(end - state.position.offset, 0)

    def _largest_lag(self, now: float) -> float:
        del now
        lags = [
            lag for state in self.positions.states.values() if (lag := self.lag(state)) is not None
        ]
        return max(lags, default=nan)
