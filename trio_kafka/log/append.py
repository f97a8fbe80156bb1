"""Appends to a log: place the batch, write it, take it over.

A leader appends one batch, a follower one or more. `place` checks the rules of the log and gives
the leader's batch its offsets. Then the batches are written. `take_over` moves the end of the log
behind them. An append is whole or nothing.
The file operations of an append are performed in one of three ways: in the loop; in the loop in
    pieces, with a yield point between them; in a thread, for a slow directory. Meanwhile the log's
    writer blocks other appends, rolls and cuts. If the log is closed or fails meanwhile, nothing is
    appended.
Batches were validated before (CRC, counts, times).
`_write_now` repeats the steps of `_writing` without its generator and its context managers. With
    `run_now(_writing(...))` instead, a produce to 100 partitions takes 18 % more CPU (1707 µs for
    1441 µs, row `produce-100-partitions`). `test_append_thread` holds the two equal.
Source: max.message.bytes, segment.bytes; KIP-98.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.disk_latency import LONG_APPEND_S
from trio_kafka.log.files.operations import FileWork, run_in_threads, run_now
from trio_kafka.log.log import Log
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.log.rolling import begin_segment
from trio_kafka.log.segment import LAST_RELATIVE, Segment
from trio_kafka.log.transaction_checks import AppendCheck
from trio_kafka.log.transaction_markers import note_batch
from trio_kafka.records.header import (
    CONTROL,
    LENGTH_END,
    STAMP,
    BatchHeader,
    stamp_append_time,
)

_NO_TIME: Final = -1


class Appended(NamedTuple):
    """Result of an append. append_time_ms is -1 with create times.

    duplicate: the same producer appended the batches before. Then append_time_ms is the largest
        timestamp of the stored batches, with create times too, as in Kafka.
    """

    first_offset: int
    last_offset: int
    append_time_ms: int
    start_offset: int
    duplicate: bool = False


# Bypasses the generated constructor: a produce makes one for each partition.
_appended: Final[Callable[[tuple[int, int, int, int, bool]], Appended]] = partial(
    tuple.__new__, Appended
)


# Three ways to append


def append_as_leader(
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    *,
    leader_epoch: int,
    now_ms: int | None = None,
    in_pieces: bool = False,
    check: AppendCheck | None = None,
) -> Appended:
    """Give a batch its offsets and the epoch, in place, and write it in the loop.

    batch: whole, validated, writable. header: its header, brought up to date.
    now_ms: the wall clock, if the caller has just read it.
    in_pieces: call the yield point between the pieces of a large batch.
    check: of the batch, in place of `ProducerState.check`.
    Raises KafkaError (nothing was written): MESSAGE_TOO_LARGE, RECORD_LIST_TOO_LARGE, the errors of
    ProducerState.check, NOT_LEADER_OR_FOLLOWER if the log was closed; LogDirError.
    """
    if now_ms is None:
        now_ms = log.now_ms()
    appended = place(log, batch, header, leader_epoch=leader_epoch, now_ms=now_ms, check=check)
    if not appended.duplicate:
        _write_now(log, batch, (header,), now_ms=now_ms, in_pieces=in_pieces)
    return appended


async def append_in_thread(
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    *,
    leader_epoch: int,
    check: AppendCheck | None = None,
) -> Appended:
    """Append as `append_as_leader` does, in a thread. Shielded: a started write completes.

    The caller has a turn of `Log.writer`, so that no other task cuts, closes or syncs the log.
    """
    now_ms = log.now_ms()
    appended = place(log, batch, header, leader_epoch=leader_epoch, now_ms=now_ms, check=check)
    if not appended.duplicate:
        await log.latency.run_in_threads(_writing(log, batch, (header,), now_ms=now_ms))
    return appended


def append_as_follower(log: Log, records: memoryview, headers: Sequence[BatchHeader]) -> None:
    """Write batches that have the offsets and epochs of their leader, in the loop.

    Raises KafkaError: OFFSET_OUT_OF_RANGE for offsets that do not ascend from the end of the log,
    RECORD_LIST_TOO_LARGE for more bytes than a segment may have (Source: UnifiedLog.append);
    LogDirError.
    """
    check_segment_size(len(records), log.config)
    expected = log.end_offset
    for header in headers:
        if header.base_offset < expected:
            message = f"{log.partition}: batch at {header.base_offset}, want {expected} or more"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        expected = header.base_offset + header.last_offset_delta + 1
    _write_now(log, records, headers, now_ms=log.now_ms())


async def copy_in_thread(log: Log, records: memoryview, headers: Sequence[BatchHeader]) -> None:
    """Append batches of another log of the partition, in a thread. Shielded.

    The caller has a turn of `Log.writer`. Offsets ascend from the end of the log. A copy that takes
    long does not make the directory slow, as no client waits for it. LogDirError, KafkaError.
    """
    with trio.CancelScope(shield=True):
        await run_in_threads(_writing(log, records, headers, now_ms=log.now_ms()))


# Steps of an append


def _write_now(
    log: Log,
    records: memoryview,
    headers: Sequence[BatchHeader],
    *,
    now_ms: int,
    in_pieces: bool = False,
) -> None:
    """Write in the loop: the steps of `_writing`. No task can wait until appends may begin."""
    writer = log.writer
    if log.failed or log.closed or writer.blocked_by:
        log.refuse()
    latency = log.latency
    if latency.suspect:
        latency.watch()
    began = latency.elapsed() - latency.yielded_s
    writer.blocked_by = "append"
    try:
        segment = log.segments.active
        if segment.should_roll(log.config, log.jitter_ms, now_ms, records=records, headers=headers):
            segment = run_now(begin_segment(log, _next_base(log, headers), now_ms))
        give_way = latency.give_way if in_pieces and latency.yield_point.bound else None
        position = segment.write(records, give_way)
    except OSError as error:
        log.fail(error)
    finally:
        writer.blocked_by = None
    take_over(
        log, segment, records, headers=headers, written_at=position, paused=give_way is not None
    )
    ended = latency.elapsed()
    took_s = ended - latency.yielded_s - began
    if took_s > LONG_APPEND_S:
        latency.held_up(ended - took_s, ended)


def _writing(
    log: Log, records: memoryview, headers: Sequence[BatchHeader], *, now_ms: int
) -> FileWork[None]:
    with log.blocking_appends("append"):
        try:
            segment = log.segments.active
            if segment.should_roll(
                log.config, log.jitter_ms, now_ms, records=records, headers=headers
            ):
                segment = yield from begin_segment(log, _next_base(log, headers), now_ms)
            position = yield segment.writing(records)
            if log.unsynced.is_nameless:
                yield from log.unsynced.write_name()
        except OSError as error:
            log.fail(error)
        take_over(log, segment, records, headers=headers, written_at=position, paused=True)


def _next_base(log: Log, headers: Sequence[BatchHeader]) -> int:
    """Return where a new segment begins: the end of the log, as a start takes a gap for a hole.

    A batch that is out of its reach begins the segment itself.
    """
    last = headers[-1]
    reach = last.base_offset + last.last_offset_delta - log.end_offset
    return log.end_offset if reach <= LAST_RELATIVE else headers[0].base_offset


def place(
    log: Log,
    batch: memoryview,
    header: BatchHeader,
    *,
    leader_epoch: int,
    now_ms: int,
    check: AppendCheck | None = None,
) -> Appended:
    """Check the rules; write offset, epoch and time of the append into a leader's batch."""
    config, size = log.config, len(batch)
    if size > config.max_message_bytes:
        message = f"batch of {size} bytes, want at most {config.max_message_bytes}"
        raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)
    if size > config.segment_bytes:
        check_segment_size(size, config)
    repeated = None
    if check is not None:
        repeated = check(log.producers, header)
    elif header.producer_id >= 0:
        repeated = check_producer(log.producers, header)
    if repeated is not None:
        return Appended(
            repeated.first_offset,
            repeated.last_offset,
            repeated.timestamp,
            log.start_offset,
            duplicate=True,
        )
    first, stamped_ms = log.end_offset, _NO_TIME
    STAMP.pack_into(batch, 0, first, header.length, leader_epoch)
    header.base_offset, header.leader_epoch = first, leader_epoch
    if config.message_timestamp_type == "LogAppendTime":
        stamp_append_time(batch, 0, header, now_ms=now_ms)
        stamped_ms = now_ms
    last = first + header.last_offset_delta
    return _appended((first, last, stamped_ms, log.start_offset, False))


def take_over(
    log: Log,
    segment: Segment,
    records: memoryview,
    *,
    headers: Sequence[BatchHeader],
    written_at: int,
    paused: bool,
) -> None:
    """Move the end of the log behind batches that were written. Readers see them from now on.

    paused: other code may have run during the write. Raises KafkaError, LogDirError if the log was
    closed or has failed since; InvariantError if something else has grown the file.
    """
    if log.failed or log.closed:
        log.refuse()
    if paused:
        segment.check_end(written_at + len(records))
    epochs, position, interval = log.epochs, 0, log.config.index_interval_bytes
    for header in headers:
        segment.wrote(written_at + position, header, interval)
        if header.leader_epoch != epochs.latest:
            epochs.assign(header.leader_epoch, header.base_offset)
            if log.unsynced.is_nameless:  # before the first answer; later syncs write it
                run_now(log.unsynced.write_name())
        if header.producer_id >= 0:
            aborted = note_batch(log.producers, header, records, position=position)
            if aborted is not None:
                segment.transactions.append(aborted)
            if header.attributes & CONTROL:
                log.producers.forget_ended(log.high_watermark)
        position += header.length + LENGTH_END
    last = headers[-1]
    next_offset = last.base_offset + last.last_offset_delta + 1
    log.end_offset = next_offset
    most = log.config.flush_messages
    if next_offset - log.recovery_point >= most and next_offset - log.flush_end >= most:
        log.flush_end = next_offset
        log.wants_sync(log)


def check_segment_size(size: int, config: LogConfig) -> None:
    """Raise KafkaError(RECORD_LIST_TOO_LARGE) for batches that exceed a segment together."""
    if size > config.segment_bytes:
        message = f"batches of {size} bytes, want at most a segment of {config.segment_bytes}"
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, message)


def check_producer(producers: ProducerState, header: BatchHeader) -> ProducedBatch | None:
    """Check that sequence and epoch are the next ones. Return the batch that this one repeats.

    Raises KafkaError as `ProducerState.check`.
    """
    return None if header.attributes & CONTROL else producers.check(header)
