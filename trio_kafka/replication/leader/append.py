"""Appends to a partition led here, for clients and for the broker itself.

An append never waits, and stays whatever happens to the request. On a slow directory it is queued,
see `queued_appends`. A client's large batch is written in pieces with a yield point between them.
The broker's own is not, as its writer is in the middle of an event. `append_acknowledged` waits
for the acknowledgement, too; after `append_own` call `produce_wait.acknowledged`: followers, or
this broker's disk, may have to store the batch first.
"""

from functools import partial

import trio

from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import Appended, append_as_leader
from trio_kafka.log.decompression import SMALL
from trio_kafka.log.log import Log
from trio_kafka.log.transaction_checks import AppendCheck, check_verified
from trio_kafka.log.verification import Guard
from trio_kafka.metadata.names import is_internal
from trio_kafka.pending import Eventual
from trio_kafka.records.compression import TooLargeError
from trio_kafka.records.header import LENGTH_END, TRANSACTIONAL, BatchHeader, read_header
from trio_kafka.records.validate import NoBatchError, check_produce
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import ACKS_ALL, check_enough
from trio_kafka.replication.leader.produce_wait import wait_for
from trio_kafka.replication.leader.transaction_gate import NotAdmittedError
from trio_kafka.replication.partition import NO_EPOCH, UNKNOWN_OFFSET, Partition
from trio_kafka.replication.record_validation import RecordValidation, validation_of
from trio_kafka.replication.roles import Leading
from trio_kafka.replication.topic_metrics import EXPECTED_OF_PRODUCE


def append_acknowledged(
    partition: Partition,
    records: memoryview | None,
    *,
    acks: int,
    zstd: bool,
    timeout_s: float,
    guard: Guard | None = None,
) -> Eventual[Appended]:
    """Append one batch of a client. Return the append when it is acknowledged.

    The wait for replicas ends after `timeout_s`. That for this broker's disk (`flush.messages`) may
    take longer, as a timeout does not make it faster.
    Raises KafkaError, now or when the Pending completes: as `append` (nothing was appended) and
    `ProduceWait` (it was, or will be).
    """
    try:
        appended = append(partition, records, acks=acks, zstd=zstd, guard=guard)
    except KafkaError as error:
        partition.topic_metrics.count_failed_produce(error.code)
        raise
    role = partition.role
    if (
        type(appended) is Appended
        and type(role) is Leading
        and role.log.flush_end <= role.log.recovery_point  # nothing must be durable first
        and (acks != ACKS_ALL or len(partition.isr) == 1 == partition.settings.min_insync_replicas)
    ):
        return appended  # nearly always
    return wait_for(partition, appended, acks, timeout_s)


def start_offset_after(partition: Partition | None, error: KafkaError) -> int:
    """Return the start of the log for the answer to a failed append; -1 where Kafka gives none."""
    log = None if partition is None else partition.leading
    if (
        log is None
        or error.code is ErrorCode.TOPIC_AUTHORIZATION_FAILED  # whether the topic exists is secret
        or isinstance(error, NoBatchError | NotAdmittedError)
        or error.code in EXPECTED_OF_PRODUCE
    ):
        return UNKNOWN_OFFSET
    return log.start_offset


def append(
    partition: Partition,
    records: memoryview | None,
    *,
    acks: int,
    zstd: bool = True,
    guard: Guard | None = None,
) -> Appended | Queued:
    """Append one batch of a client.

    records: writable, changed in place. A queued batch is copied, so the buffer is free afterwards.
    zstd: whether the request's version allows it.
    guard: of a transactional batch that the coordinator has admitted, see `transaction_gate`.
    Raises KafkaError (nothing was appended): as `Partition.local_log`, `check_produce`,
    `RecordValidation.whole` and `append_as_leader`; NOT_ENOUGH_REPLICAS; REQUEST_TIMED_OUT if the
    queue is full; INVALID_TOPIC_EXCEPTION for an internal topic; INVALID_TXN_STATE for a
    transactional batch without a guard, or whose transaction has ended.
    """
    partition.topic_metrics.produces += 1
    role = partition.role
    log = role.log if type(role) is Leading else partition.local_log()
    settings = partition.settings
    if acks == ACKS_ALL and len(partition.isr) < settings.min_insync_replicas:
        check_enough(len(partition.isr), partition.minimum)
    now_ms = int(log.wall() * 1000)
    header, suspicious = check_produce(records, settings.limits, now_ms=now_ms, zstd=zstd)
    check = None
    if header.attributes & TRANSACTIONAL:
        if guard is None:
            raise KafkaError(ErrorCode.INVALID_TXN_STATE, "transactions are not served")
        check = partial(check_verified, guard)
    batch: memoryview = records  # type: ignore[assignment]  # None was rejected above
    size = header.length + LENGTH_END
    if size != len(batch):  # a part of another batch follows
        batch = batch[:size]
    if suspicious or not settings.as_sent:
        if is_internal(partition.at.topic):
            reason = f"Cannot append to internal topic {partition.at.topic}"
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
        work = validation_of(settings, batch, header, now_ms, suspicious=suspicious)
        if work is not None:
            return _append_validated(partition, log, batch, header, work, acks=acks, check=check)
    return _append(
        partition, log, batch, header, now_ms=now_ms, acks=acks, in_pieces=True, check=check
    )


def _append_validated(
    partition: Partition,
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    work: RecordValidation,
    *,
    acks: int,
    check: AppendCheck | None = None,
) -> Appended | Queued:
    """Append a batch whose records are checked or recompressed. A large one joins the queue."""
    refined = work.at_once(batch, header)
    if refined is None:
        queued = _join_queue(
            partition, batch, header, acks=acks, work=work, in_pieces=True, check=check
        )
        if queued is not None:
            return queued
        refined = _validated_without_queue(batch, header, work)
    batch, header = refined
    return _append(
        partition, log, batch, header, now_ms=work.now_ms, acks=acks, in_pieces=True, check=check
    )


def _validated_without_queue(
    batch: memoryview, header: BatchHeader, work: RecordValidation
) -> tuple[memoryview, BatchHeader]:
    """Validate without a pause, as no queue runs while the broker starts and stops.

    Raises KafkaError as `RecordValidation.whole`. NOT_LEADER_OR_FOLLOWER, which clients retry, for
    a batch that only the queue may decompress.
    """
    try:
        return work.whole(batch, header, SMALL)
    except KafkaError as error:
        if not isinstance(error.__cause__, TooLargeError):
            raise
    reason = f"more than {SMALL} bytes of records, and the broker starts or stops"
    raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason)


def append_own(
    partition: Partition,
    batch: memoryview,
    header: BatchHeader | None = None,
    *,
    acks: int,
    leader_epoch: int = NO_EPOCH,
    now_ms: int | None = None,
    check: AppendCheck | None = None,
) -> Appended | Queued:
    """Append a batch of this broker (coordinators, markers), without checks of its records.

    header: None: it is read.
    leader_epoch: that of the writing coordinator; an older one is rejected.
    now_ms: the wall clock, if the caller has just read it.
    check: of the batch, see `append_as_leader`.
    """
    partition.topic_metrics.produces += 1
    role = partition.role
    if type(role) is Leading and (leader_epoch in (NO_EPOCH, partition.leader_epoch)):
        log = role.log
    else:
        log = partition.local_log(leader_epoch)
    if acks == ACKS_ALL and len(partition.isr) < partition.settings.min_insync_replicas:
        check_enough(len(partition.isr), partition.minimum)
    if header is None:
        header = read_header(batch)
    if now_ms is None:
        now_ms = log.now_ms()
    return _append(partition, log, batch, header, now_ms=now_ms, acks=acks, check=check)


def _append(
    partition: Partition,
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    *,
    now_ms: int,
    acks: int,
    in_pieces: bool = False,
    check: AppendCheck | None = None,
) -> Appended | Queued:
    if log.writer.blocked_by or not log.latency.calm:
        queued = _join_queue(partition, batch, header, acks=acks, in_pieces=in_pieces, check=check)
        if queued is not None:
            return queued
    try:
        appended = append_as_leader(
            log,
            batch,
            header,
            leader_epoch=partition.leader_epoch,
            now_ms=now_ms,
            in_pieces=in_pieces,
            check=check,
        )
    except LogDirError as error:
        raise partition.storage_error(error) from error
    metrics = partition.topic_metrics
    metrics.bytes_in += len(batch)
    metrics.records_in += header.last_offset_delta + 1
    if len(partition.isr) == 1 == partition.settings.min_insync_replicas:
        log.commit_own()  # as `advance` does in that case
    else:
        partition.advance()
    partition.changed(partition)
    return appended


def _join_queue(
    partition: Partition,
    batch: memoryview,
    header: BatchHeader,
    *,
    acks: int,
    work: RecordValidation | None = None,
    in_pieces: bool,
    check: AppendCheck | None = None,
) -> Queued | None:
    """Queue an append, see `QueuedAppends.join`."""
    item = Queued(
        batch=batch,
        header=header,
        leader_epoch=partition.leader_epoch,
        needs_all=acks == ACKS_ALL,
        since=trio.current_time(),
        work=work,
        check=check,
    )
    return partition.join_queue(partition, item, in_pieces)
