"""Metrics of producers. Source: SenderMetricsRegistry of Apache Kafka 4.4.0."""

from collections.abc import Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.metrics.measures import Distribution, Total
from trio_kafka.clients.metrics.registry import MetricRegistry
from trio_kafka.clients.producer.accumulator import Accumulator
from trio_kafka.clients.producer.batch import Failed, ProducerBatch

GROUP = "producer-metrics"


@define(eq=False)
class ProducerMetrics:
    """Counters of the records of a producer, counted by batch. Times are in ms."""

    registry: MetricRegistry
    sent: Total = field(init=False)
    errors: Total = field(init=False)
    retries: Total = field(init=False)
    batch_size: Distribution = field(init=False)
    queue_time: Distribution = field(init=False)
    latency: Distribution = field(init=False)
    throttle: Distribution = field(init=False)
    interceptor_errors: Total = field(init=False)

    def __attrs_post_init__(self) -> None:
        group = self.registry.group(GROUP)
        self.sent = group.total("record-send")
        self.errors = group.total("record-error")
        self.retries = group.total("record-retry")
        self.batch_size = group.distribution("batch-size")
        self.queue_time = group.distribution("record-queue-time")
        self.latency = group.distribution("request-latency")
        self.throttle = group.distribution("produce-throttle-time")
        self.interceptor_errors = group.total("interceptor-error")

    def read_accumulator(self, accumulator: Accumulator) -> None:
        """Declare the values that an accumulator has, and count the records that fail."""
        group, pool = self.registry.group(GROUP), accumulator.pool
        group.gauge("buffer-total-bytes", lambda _: pool.total)
        group.gauge("buffer-available-bytes", lambda _: pool.free)
        group.gauge("waiting-threads", lambda _: pool.waiting)
        group.gauge("requests-in-flight", lambda _: accumulator.counts()[1])
        accumulator.watchers.append(self._note_end)

    def _note_end(self, batch: ProducerBatch) -> None:
        if isinstance(batch.outcome, Failed):
            self.errors.value += batch.count

    def note_request(self, batches: Sequence[ProducerBatch], now: float) -> None:
        """Count the batches of a request that is sent now."""
        for batch in batches:
            self.batch_size.record(batch.size if batch.data is None else len(batch.data))
            self.queue_time.record((now - batch.created) * 1000)
            if batch.attempts > 1:
                self.retries.value += batch.count
            else:
                self.sent.value += batch.count
