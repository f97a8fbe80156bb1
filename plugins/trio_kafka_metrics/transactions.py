"""Metrics of transactions: ids by state, verification of batches, markers, loads of shards.

Strimzi's rules give no name to the beans of `kafka.coordinator.transaction` and of
`transaction-coordinator-metrics`: their values have names of our own, close to Kafka's.
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from trio_kafka.coordinators.shards.protocols import ShardState
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.states import STORED_NUMBERS
from trio_kafka.plugin import Kind
from trio_kafka.requests.parts import MissingPartError, Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import MetricValues, native, of_bean
from trio_kafka_metrics.names import PERCENTILES, QUANTILES

_A_STEP: Final = 256  # ids: about 0.1 ms
_ADDING: Final = "kafka.server:type=AddPartitionsToTxnManager,name="

FAILURES = of_bean(
    f"{_ADDING}VerificationFailureRate",
    "Partitions that the coordinator has not admitted to a transaction.",
    "Count",
)
TIMES = of_bean(
    f"{_ADDING}VerificationTimeMs",
    "Time until the coordinator has admitted a batch, ms.",
    PERCENTILES,
)
IDS = native("transactional_ids", Kind.GAUGE, "Transactional ids by state.", "state")
PARTITIONS = native(
    "transaction_coordinator_partitions",
    Kind.GAUGE,
    "Partitions of __transaction_state on this broker.",
    "state",
)
LOAD_AVERAGE = native(
    "transaction_coordinator_partition_load_seconds_avg",
    Kind.GAUGE,
    "Average time to load a partition, since the start (Kafka: partition-load-time-avg).",
)
LOAD_LONGEST = native(
    "transaction_coordinator_partition_load_seconds_max",
    Kind.GAUGE,
    "Longest time to load a partition, since the start (Kafka: partition-load-time-max).",
)
UNKNOWN_DESTINATION = native(
    "transaction_markers_unknown_destination_queue_size",
    Kind.GAUGE,
    "Transactions whose markers wait for a leader (Kafka: UnknownDestinationQueueSize).",
)
RETRIES = native(
    "transaction_markers_log_append_retry_queue_size",
    Kind.GAUGE,
    "Transactions whose markers are tried again, leaders known (Kafka: LogAppendRetryQueueSize).",
)


def read_transactions(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps of some ids."""
    try:
        coordinator = parts[TransactionCoordinator]
    except MissingPartError:
        return
    states = yield from _count_states(coordinator)
    for state in STORED_NUMBERS:
        collected.set(IDS, states[state.value], state.value)
    shards = [shard.state for shard in coordinator.runtime.shards.values()]
    for shard_state in (ShardState.LOADING, ShardState.ACTIVE, ShardState.FAILED):
        collected.set(PARTITIONS, shards.count(shard_state), shard_state.value)
    times, loads = coordinator.gate.times, coordinator.runtime.load_times
    collected.summary(FAILURES, (), times.failures)
    yield
    collected.summary(TIMES, (), times.count, quantiles=_quantiles(times.recent_ms))
    collected.set(LOAD_AVERAGE, loads.total_s / max(loads.count, 1))
    collected.set(LOAD_LONGEST, loads.longest_s)
    leaderless = coordinator.marker_writer.leaderless
    collected.set(UNKNOWN_DESTINATION, leaderless)
    collected.set(RETRIES, coordinator.marker_writer.paused - leaderless)
    yield


def _count_states(coordinator: TransactionCoordinator) -> Steps[Counter[str]]:
    states, counted = Counter[str](), 0
    for shard in tuple(coordinator.runtime.shards.values()):
        for transaction in tuple(shard.machine.by_id.values()):
            states[transaction.state.value] += 1
            counted += 1
            if not counted % _A_STEP:
                yield
    return states


def _quantiles(values: Iterable[float]) -> tuple[float, ...]:
    """Return the values of `QUANTILES`; zeros if there are none."""
    ordered = sorted(values)
    last = len(ordered) - 1
    return tuple(ordered[round(quantile * last)] if ordered else 0.0 for quantile in QUANTILES)
