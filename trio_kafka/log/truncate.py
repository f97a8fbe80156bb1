"""Truncation of a log, for a follower whose log differs from the leader's.

The recovery point is lowered durably before the first byte is cut: otherwise later appends to the
    same segments would be trusted unread. Whole segments are removed from the last one on, then the
    tail in parts of 16 MiB. A crash in between leaves a longer valid log. Leases on removed bytes
    are marked as cut.
Source: KIP-101.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.log.durability.sync import write_epochs
from trio_kafka.log.files.descriptor_retry import sync_names
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import drop_snapshots, load_producers
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import unlink_segment

BYTES_A_TURN: Final = 16 << 20
LONGEST_S: Final = 300.0  # waits for the disk and for descriptors included


async def truncate_to(log: Log, offset: int) -> None:
    """Cut the log at `offset`, or before it if `offset` is inside of a batch. LogDirError.

    Nothing may be appended meanwhile. Shielded, as a log that is cut half way is useless; after
    LONGEST_S the log fails.
    Raises KafkaError(REPLICA_NOT_AVAILABLE) without a free descriptor; nothing was cut then.
    """
    with _shield(log):
        async with log.writer.turn("cut"):
            if offset >= log.end_offset:
                return
            with _cutting(log):
                await _truncate(log, max(offset, log.segments.first.base_offset))


async def _truncate(log: Log, offset: int) -> None:
    last = log.segments.at(log.segments.floor(offset - 1))
    if last is not None and (inside := await run_in_threads(last.find(offset))) is not None:
        offset = min(offset, inside.base_offset)  # the whole batch is removed: claim nothing of it
        # If it is the first of a segment, the segment goes and the one before grows again.
        last = log.segments.at(log.segments.floor(offset - 1))
    last = last or log.segments.first
    if last.sealed:
        # Open its files first: without a free descriptor nothing has changed.
        await run_in_threads(last.grow_again())
    # Keep the file open, so that no cut stops half way without a descriptor.
    lease = last.file.lease(0)
    try:
        await _cut(log, offset)
    finally:
        lease.release()


async def _cut(log: Log, offset: int) -> None:
    log.recovery_point = min(log.recovery_point, offset)
    log.flush_end = min(log.flush_end, offset)
    log.high_watermark = min(log.high_watermark, offset)
    log.compacted_until = min(log.compacted_until, offset)
    await log.lower_checkpoints(log, cut=offset)
    for segment in reversed(log.segments):
        if segment.base_offset < offset or len(log.segments) == 1:
            break
        await _remove(log, segment)
    active = log.segments.active
    log.unsynced.forget(active)
    spot = await run_in_threads(active.find(offset))
    end = min(offset, spot.base_offset) if spot else offset
    position = spot.position if spot else active.size
    while active.size > position:
        active.truncate(max(position, active.size - BYTES_A_TURN))
        await trio.lowlevel.checkpoint()
    await run_in_threads(active.cut(end))
    log.end_offset = end
    log.start_offset = min(log.start_offset, end)
    log.high_watermark = log.high_watermark
    log.recovery_point = min(log.recovery_point, end)
    log.epochs.truncate_from_end(end)
    await drop_snapshots(log.directory, end)
    try:
        log.producers = await load_producers(
            log.directory, log.segments, end, end_offset=end, rebuilt=set()
        )
    except KafkaError as error:  # a log that is cut half way is useless
        raise OSError(str(error)) from error
    await write_epochs(log)
    await active.sync_file()
    await sync_names(log.directory)


async def restart_at(log: Log, offset: int) -> None:
    """Empty the log and continue at `offset`, for a follower too far behind. LogDirError."""
    await truncate_to(log, log.segments.first.base_offset)
    with _shield(log):
        async with log.writer.turn("restart"):
            with _cutting(log):
                await _restart(log, offset)


async def _restart(log: Log, offset: int) -> None:
    old = log.segments.active
    if old.base_offset != offset:
        log.segments.add(_new(log, offset))
        await _remove(log, old)
    await drop_snapshots(log.directory, -1)
    log.producers.clear()
    log.start_offset = log.end_offset = log.recovery_point = offset
    log.flush_end = offset
    log.high_watermark = offset
    log.compacted_until = 0
    await log.lower_checkpoints(log)
    await sync_names(log.directory)


@contextmanager
def _cutting(log: Log) -> Iterator[None]:
    """Block appends and discard the results of readers. An error fails the log."""
    with log.blocking_appends("cut"):
        log.writer.begin_generation()
        try:
            yield
        except OSError as error:
            log.fail(error)
        finally:
            log.writer.begin_generation()


@contextmanager
def _shield(log: Log) -> Iterator[None]:
    """Shield the block from cancellation, with a timeout. Expiry fails the log."""
    with trio.CancelScope(shield=True, deadline=trio.current_time() + LONGEST_S) as scope:
        yield
    if scope.cancelled_caught:
        log.fail(TimeoutError(f"a cut took longer than {LONGEST_S:.0f} s"))


def _new(log: Log, offset: int) -> Segment:
    files, reserve = log.segments.active.files, log.config.reserve
    return run_now(
        Segment.create(log.directory, offset, log.now_ms(), files=files, reserve=reserve)
    )


async def _remove(log: Log, segment: Segment) -> None:
    log.segments.remove(segment)
    log.unsynced.forget(segment)
    segment.close()
    await unlink_segment(log.directory, segment.base_offset)
