"""A leader's append to one partition, for clients and for the broker itself.

Never waits: what is appended stays, whatever becomes of the request. Where the directory is slow
the batch is queued, see `slow_appends`. A client's large batch is written in pieces where another
plane is to be let in; the broker's own is not: who writes one is in the middle of an event. Whoever
answers for it asks `delayed.acknowledged` next: followers, or this broker's disk, may have to have
it first.
"""

from typing import Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.append import Appended
from trio_kafka.log.append_in_pieces import append_in_pieces
from trio_kafka.log.log import Log
from trio_kafka.log.unpacking import SMALL
from trio_kafka.metadata.names import is_internal
from trio_kafka.records.compression import TooLargeError
from trio_kafka.records.header import (
    LENGTH_END,
    TRANSACTIONAL,
    BatchHeader,
    iterate_headers,
)
from trio_kafka.records.validate import check_produce
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import check_enough
from trio_kafka.replication.partition import NO_EPOCH, Partition
from trio_kafka.replication.refine import Refinement, refinement
from trio_kafka.scheduling.yield_point import YieldPoint
from trio_kafka.world.protocols import PIECE

ACKS_ALL: Final = -1


def check_acks(acks: int) -> None:
    """Raises KafkaError(INVALID_REQUIRED_ACKS) for anything but 0, 1 and -1."""
    if acks not in (0, 1, ACKS_ALL):
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks {acks}, want 0, 1 or -1")


def append(
    partition: Partition, records: memoryview | None, *, acks: int, zstd: bool = True
) -> Appended | Queued:
    """Append the one batch of a client.

    records: writable, changed in place, free when this returns: what is queued is copied. zstd: the
    request's version may carry it. Raises KafkaError: as `Partition.local_log`, `check_produce`,
    `Refinement.whole` and `Log.append_as_leader`, NOT_ENOUGH_REPLICAS, REQUEST_TIMED_OUT where the
    queue is full, INVALID_TOPIC_EXCEPTION for a topic that the broker alone writes to, and
    INVALID_TXN_STATE for a transaction's batch: nobody would end it. Nothing was appended then.
    """
    partition.traffic.produces += 1
    log = partition.leading or partition.local_log()
    settings = partition.settings
    if acks == ACKS_ALL and len(partition.isr) < settings.min_insync_replicas:
        check_enough(len(partition.isr), partition.minimum)
    now_ms = int(log.wall() * 1000)
    headers = check_produce(records, settings.limits, now_ms=now_ms, zstd=zstd)
    header = headers[0]
    attributes = header.attributes
    if attributes & TRANSACTIONAL:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, "transactions are not served")
    batch: memoryview = records  # type: ignore[assignment]  # None is refused by then
    size = header.length + LENGTH_END
    if size != len(batch):  # the cut end of another batch follows
        batch = batch[:size]
    if not settings.as_sent:
        work = refinement(settings, header, now_ms)
        if work is not None:
            return _append_refined(partition, log, batch, header, work, acks=acks)
    return _append(
        partition, log, batch, headers, now_ms=now_ms, acks=acks, between=log.pace.yield_point
    )


def _append_refined(
    partition: Partition,
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    work: Refinement,
    *,
    acks: int,
) -> Appended | Queued:
    """A batch that is not stored unseen; a large one joins the queue."""
    if is_internal(partition.at.topic):
        found = f"Cannot append to internal topic {partition.at.topic}"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, found)
    refined = work.at_once(batch, header)
    if refined is None:
        queued = _join_queue(
            partition, batch, [header], acks=acks, work=work, between=log.pace.yield_point
        )
        if queued is not None:
            return queued
        refined = _refined_without_queue(batch, header, work)
    batch, header = refined
    return _append(
        partition, log, batch, [header], now_ms=work.now_ms, acks=acks, between=log.pace.yield_point
    )


def _refined_without_queue(
    batch: memoryview, header: BatchHeader, work: Refinement
) -> tuple[memoryview, BatchHeader]:
    """Refine in one go: no queue runs while the broker starts and stops.

    Raises KafkaError as `Refinement.whole`; NOT_LEADER_OR_FOLLOWER, which clients retry, for a
    batch that only a queue may unpack.
    """
    limit = work.settings.decompressed_limit
    try:
        return work.whole(batch, header, min(SMALL, limit))
    except KafkaError as error:
        if limit <= SMALL or not isinstance(error.__cause__, TooLargeError):
            raise
    found = f"more than {SMALL} bytes of records, and the broker starts or stops"
    raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, found)


def append_own(
    partition: Partition,
    records: memoryview,
    *,
    acks: int,
    leader_epoch: int = NO_EPOCH,
    headers: list[BatchHeader] | None = None,
    now_ms: int | None = None,
) -> Appended | Queued:
    """Append batches that this broker made (coordinators, markers): they are not checked again.

    leader_epoch: that of the coordinator that writes; an older one is refused. headers: of the
    batches, by whoever made them; None: they are read. now_ms: the wall clock, by a caller that has
    just read it.
    """
    partition.traffic.produces += 1
    log = partition.leading
    if log is None or partition.leader_epoch != leader_epoch != NO_EPOCH:
        log = partition.local_log(leader_epoch)
    if acks == ACKS_ALL and len(partition.isr) < partition.settings.min_insync_replicas:
        check_enough(len(partition.isr), partition.minimum)
    if headers is None:
        headers = [header for _, header in iterate_headers(records)]
    if now_ms is None:
        now_ms = log.now_ms()
    return _append(partition, log, records, headers, now_ms=now_ms, acks=acks)


def _append(
    partition: Partition,
    log: Log,
    records: memoryview,
    headers: list[BatchHeader],
    *,
    now_ms: int,
    acks: int,
    between: YieldPoint | None = None,
) -> Appended | Queued:
    if log.busy or not log.pace.calm:
        queued = _join_queue(partition, records, headers, acks=acks, between=between)
        if queued is not None:
            return queued
    epoch = partition.leader_epoch
    try:
        if between is None or not between.bound or len(records) <= PIECE:
            appended = log.append_as_leader(records, headers, epoch, now_ms)
        else:
            appended = append_in_pieces(log, records, headers, epoch, between)
    except LogDirError as error:
        raise partition.storage_error(error) from error
    traffic = partition.traffic
    traffic.bytes_in += len(records)
    traffic.records_in += appended.last_offset - appended.first_offset + 1
    if len(partition.isr) == 1 == partition.settings.min_insync_replicas:
        log.commit_own()  # what `advance` does then
    else:
        partition.advance()
    partition.changed(partition)
    return appended


def _join_queue(
    partition: Partition,
    records: memoryview,
    headers: list[BatchHeader],
    *,
    acks: int,
    work: Refinement | None = None,
    between: YieldPoint | None,
) -> Queued | None:
    """See `SlowAppends.join`."""
    item = Queued(
        records=records,
        headers=headers,
        leader_epoch=partition.leader_epoch,
        needs_all=acks == ACKS_ALL,
        since=trio.current_time(),
        work=work,
    )
    return partition.join_queue(partition, item, between)
