"""Metrics of replicas, their logs and the purgatories."""

from typing import Final

from attrs import define

from trio_kafka.introspect.metrics import Labels
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.purgatory import Purgatory
from trio_kafka.replication.leader.session_cache import SessionCache
from trio_kafka.replication.moves.moves import LogMoves
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.purgatories import Purgatories
from trio_kafka.replication.roles import Offline
from trio_kafka.requests.parts import Parts
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka_metrics.metric_values import Metric, MetricValues, of_bean

_A_STEP: Final = 64  # partitions: about 0.4 ms
_MANAGER: Final = "kafka.server:type=ReplicaManager,name="
_AT: Final = ",topic={topic},partition={partition}"
_PARTITION: Final = "kafka.cluster:type=Partition,name="
_LOG: Final = "kafka.log:type=Log,name="
_DIRECTORY: Final = "logDirectory={logDirectory}"

PARTITIONS = of_bean(f"{_MANAGER}PartitionCount", "Replicas on this broker.")
LEADERS = of_bean(f"{_MANAGER}LeaderCount", "Partitions led by this broker.")
OFFLINE = of_bean(f"{_MANAGER}OfflineReplicaCount", "Replicas whose directory is offline.")
UNDER_REPLICATED = of_bean(
    f"{_MANAGER}UnderReplicatedPartitions", "Led here, with replicas out of sync."
)
UNDER_MINIMUM = of_bean(
    f"{_MANAGER}UnderMinIsrPartitionCount",
    "Led here, with fewer replicas in sync than min.insync.replicas.",
)
AT_MINIMUM = of_bean(
    f"{_MANAGER}AtMinIsrPartitionCount", "Led here, with exactly min.insync.replicas in sync."
)
REASSIGNING = of_bean(
    f"{_MANAGER}ReassigningPartitions", "Led here, with a reassignment in progress."
)
PRODUCERS = of_bean(f"{_MANAGER}ProducerIdCount", "Idempotent producers with known sequences.")
LATE = of_bean(
    f"{_MANAGER}PartitionsWithLateTransactionsCount",
    "Partitions with a transaction open for five minutes more than transaction.max.timeout.ms.",
)

OF_UNDER_REPLICATED = of_bean(
    f"{_PARTITION}UnderReplicated{_AT}", "1: led here, with replicas out of sync."
)
OF_IN_SYNC = of_bean(
    f"{_PARTITION}InSyncReplicasCount{_AT}", "Replicas in sync; 0 if another broker leads."
)
OF_REPLICAS = of_bean(f"{_PARTITION}ReplicasCount{_AT}", "Replicas; 0 if another broker leads.")
OF_UNDER_MINIMUM = of_bean(
    f"{_PARTITION}UnderMinIsr{_AT}",
    "1: led here, with fewer replicas in sync than min.insync.replicas.",
)
OF_AT_MINIMUM = of_bean(
    f"{_PARTITION}AtMinIsr{_AT}", "1: led here, with exactly min.insync.replicas in sync."
)
OF_STABLE_LAG = of_bean(
    f"{_PARTITION}LastStableOffsetLag{_AT}",
    "Offsets between the last stable offset and the high watermark.",
)
LOG_START = of_bean(f"{_LOG}LogStartOffset{_AT}", "First readable offset.")
LOG_END = of_bean(f"{_LOG}LogEndOffset{_AT}", "Offset of the next record.")
LOG_SEGMENTS = of_bean(f"{_LOG}NumLogSegments{_AT}", "Segments.")
LOG_SIZE = of_bean(f"{_LOG}Size{_AT}", "Bytes of all batches.")
DIRECTORIES_OFFLINE = of_bean(
    "kafka.log:type=LogManager,name=OfflineLogDirectoryCount", "Offline log directories."
)
DIRECTORY_OFFLINE = of_bean(
    f"kafka.log:type=LogManager,name=LogDirectoryOffline,{_DIRECTORY}",
    "1: this log directory is offline.",
)
DIRECTORIES_CORDONED = of_bean(
    "kafka.log:type=LogManager,name=CordonedLogDirectoryCount", "Cordoned log directories."
)
DIRECTORY_CORDONED = of_bean(
    f"kafka.log:type=LogManager,name=LogDirectoryCordoned,{_DIRECTORY}",
    "1: this log directory is given no new replicas.",
)
_MOVES: Final = "kafka.server:type=ReplicaAlterLogDirsManager,name="
MOVES_FAILED = of_bean(
    f"{_MOVES}FailedPartitionsCount,clientId={{clientId}}",
    "Replicas whose move to another directory failed.",
)
MOVES_LAG = of_bean(
    f"{_MOVES}MaxLag,clientId={{clientId}}",
    "Largest number of offsets that a moving replica is behind.",
)

_PURGATORY: Final = "kafka.server:type=DelayedOperationPurgatory,name="
PURGATORY_SIZE = of_bean(
    f"{_PURGATORY}PurgatorySize,delayedOperation={{delayedOperation}}",
    "Delayed requests, counted once per watched partition.",
)
DELAYED = of_bean(
    f"{_PURGATORY}NumDelayedOperations,delayedOperation={{delayedOperation}}",
    "Requests that wait.",
)
EXPIRED_PRODUCES = of_bean(
    "kafka.server:type=DelayedProduceMetrics,name=ExpiresPerSec",
    "Produce requests that expired.",
    "Count",
)
EXPIRED_FETCHES = of_bean(
    "kafka.server:type=DelayedFetchMetrics,name=ExpiresPerSec,fetcherType={fetcherType}",
    "Fetch requests that expired.",
    "Count",
)
EXPIRED_DELETIONS = of_bean(
    "kafka.server:type=DelayedDeleteRecordsMetrics,name=ExpiresPerSec",
    "DeleteRecords requests that expired.",
    "Count",
)
_SESSIONS: Final = "kafka.server:type=FetchSessionCache,name="
SESSIONS = of_bean(f"{_SESSIONS}NumIncrementalFetchSessions", "Fetch sessions (KIP-227).")
SESSION_PARTITIONS = of_bean(
    f"{_SESSIONS}NumIncrementalFetchPartitionsCached", "Partitions in fetch sessions."
)
EVICTIONS = of_bean(
    f"{_SESSIONS}IncrementalFetchSessionEvictionsPerSec",
    "Evicted fetch sessions.",
    "Count",
)


@define(kw_only=True)
class _Sums:
    leaders: int = 0
    offline: int = 0
    under_replicated: int = 0
    under_minimum: int = 0
    at_minimum: int = 0
    reassigning: int = 0
    producers: int = 0
    late: int = 0


def read_replicas(parts: Parts, collected: MetricValues) -> Steps[None]:
    """Read the metrics, in steps of some partitions."""
    purgatories, sessions, moves = parts[Purgatories], parts[SessionCache], parts[LogMoves]
    for purgatory in (purgatories.produce, purgatories.fetch, purgatories.deletions):
        _read_purgatory(purgatory, collected)
    collected.set(EXPIRED_PRODUCES, _expired(purgatories.produce))
    collected.set(EXPIRED_DELETIONS, _expired(purgatories.deletions))
    collected.set(EXPIRED_FETCHES, _expired(purgatories.fetch), "consumer")
    yield
    collected.set(SESSIONS, len(sessions))
    collected.set(SESSION_PARTITIONS, float(sessions.figures()["partitions"] or 0))
    collected.set(EVICTIONS, sessions.evictions)
    _read_directories(parts, collected)
    collected.set(MOVES_FAILED, moves.failed, "ReplicaAlterLogDirs")
    collected.set(MOVES_LAG, moves.largest_lag, "ReplicaAlterLogDirs")
    yield
    yield from _read_partitions(parts, collected)


def _expired(purgatory: Purgatory) -> float:
    return float(purgatory.figures()["expired"] or 0)


def _read_purgatory(purgatory: Purgatory, collected: MetricValues) -> None:
    watching = sum(map(len, purgatory.watchers.values()))
    collected.set(PURGATORY_SIZE, watching, purgatory.name)
    collected.set(DELAYED, purgatory.waiting, purgatory.name)


def _read_directories(parts: Parts, collected: MetricValues) -> None:
    logs = parts[LogManager]
    states = {directory.path: directory.offline is not None for directory in logs.directories}
    states.update(dict.fromkeys(logs.offline_paths, True))
    collected.set(DIRECTORIES_OFFLINE, sum(states.values()))
    for path, offline in states.items():
        collected.set(DIRECTORY_OFFLINE, offline, path)
    collected.set(DIRECTORIES_CORDONED, len(logs.cordoned))
    for directory in logs.directories:
        collected.set(DIRECTORY_CORDONED, logs.is_cordoned(directory), directory.path)


def _read_partitions(parts: Parts, collected: MetricValues) -> Steps[None]:
    sums, image = _Sums(), parts.metadata.image
    longest_timeout_ms = parts.config.transaction_max_timeout_ms
    of_partitions, of_logs = _Columns(collected, _BY_PARTITION), _Columns(collected, _BY_LOG)
    partitions = parts.replicas.partitions
    for number, partition in enumerate(partitions, 1):
        state = _state_of(partition)
        _sum_up(sums, partition, state, longest_timeout_ms)
        if partition.is_leader:
            registered = image.partition(partition.at)
            sums.reassigning += registered is not None and bool(
                registered.adding or registered.removing
            )
        log = partition.log
        if collected.take(len(_BY_PARTITION) + (0 if log is None else len(_BY_LOG))):
            labels = (("topic", partition.at.topic), ("partition", str(partition.at.partition)))
            of_partitions.add(labels, state)
            if log is not None:
                values = (log.start_offset, log.end_offset, len(log.segments), log.size)
                of_logs.add(labels, values)
        if not number % _A_STEP:
            yield
    metadata_log = parts.raft.store.log
    if collected.take(len(_BY_LOG)):
        at = metadata_log.partition
        of_logs.add(
            (("topic", at.topic), ("partition", str(at.partition))),
            (
                metadata_log.start_offset,
                metadata_log.end_offset,
                len(metadata_log.segments),
                metadata_log.size,
            ),
        )
    collected.set(PARTITIONS, len(partitions))
    collected.set(LEADERS, sums.leaders)
    collected.set(OFFLINE, sums.offline)
    collected.set(UNDER_REPLICATED, sums.under_replicated)
    collected.set(UNDER_MINIMUM, sums.under_minimum)
    collected.set(AT_MINIMUM, sums.at_minimum)
    collected.set(REASSIGNING, sums.reassigning)
    collected.set(PRODUCERS, sums.producers)
    collected.set(LATE, sums.late)


_BY_PARTITION: Final = (
    OF_UNDER_REPLICATED,
    OF_IN_SYNC,
    OF_REPLICAS,
    OF_UNDER_MINIMUM,
    OF_AT_MINIMUM,
    OF_STABLE_LAG,
)
_BY_LOG: Final = (LOG_START, LOG_END, LOG_SEGMENTS, LOG_SIZE)


def _state_of(partition: Partition) -> tuple[int, ...]:
    """Return the values of `_BY_PARTITION`."""
    log = partition.log
    lag = 0 if log is None else log.high_watermark - log.last_stable_offset
    if not partition.is_leader:
        return (0, 0, 0, 0, 0, lag)
    in_sync, replicas, minimum = len(partition.isr), len(partition.replicas), partition.minimum
    return (in_sync < replicas, in_sync, replicas, in_sync < minimum, in_sync == minimum, lag)


def _sum_up(
    sums: _Sums, partition: Partition, state: tuple[int, ...], longest_timeout_ms: int
) -> None:
    sums.leaders += partition.is_leader
    sums.offline += isinstance(partition.role, Offline)
    sums.under_replicated += state[0]
    sums.under_minimum += state[3]
    sums.at_minimum += state[4]
    if partition.log is not None:
        producers, now_ms = partition.log.producers, partition.log.now_ms()
        sums.producers += len(producers)
        sums.late += producers.has_late_transaction(now_ms, longest_timeout_ms)


class _Columns:
    """Families of the same partitions, which share their labels."""

    def __init__(self, collected: MetricValues, metrics: tuple[Metric, ...]) -> None:
        self._labels: list[Labels] = []
        self._values = [collected.column(metric, self._labels) for metric in metrics]

    def add(self, labels: Labels, values: tuple[int, ...]) -> None:
        self._labels.append(labels)
        for column, value in zip(self._values, values, strict=True):
            column.append(value)
