"""Retention: remove old segments by age, by size, and below the start offset.

Segments are removed from the oldest on, never above the high watermark. The active one is removed
    after another has begun. The start offset is durable before the first name is removed: a crash
    may lose names in any order, and a gap must not look like data. No batch is read to decide. A
    removal that has begun is completed.
Source: retention.ms, retention.bytes, DeleteRecords (KIP-107).
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio

from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.files.names import SNAPSHOT, offset_file
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import snapshots_among
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.rolling import roll, roll_in_thread
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import unlink_segment

# Name of the change that removes segments.
REMOVAL: Final = "removal"
LONGEST_S: Final = 300.0  # waits for the disk and for descriptors included
Checkpoint = Callable[[], Awaitable[None]]


async def retain(log: Log, now_ms: int, checkpoint: Checkpoint) -> int:
    """Remove the segments that the settings do not keep. Return their number. LogDirError.

    checkpoint: makes the start offsets of the directory durable.
    """
    offset = log.start_offset
    if log.config.deletes:
        offset = max(offset, await _by_time(log, now_ms), _by_size(log))
    return await delete_before(log, offset, checkpoint)


async def _by_time(log: Log, now_ms: int) -> int:
    """Return the offset below which all segments are too old."""
    keep_ms = log.config.retention_ms
    offset = log.segments.first.base_offset
    if keep_ms < 0:
        return offset
    for number, segment in enumerate(log.segments):
        await perform_in_threads(log, segment.load_timestamps)
        # A sealed segment is empty if compaction left no record in it.
        empty = not segment.size and segment is log.segments.active
        if empty or age_ms(log, number, segment, now_ms=now_ms) <= keep_ms:
            break
        offset = log.segments.end_of(number, log.end_offset)
    return offset


def age_ms(log: Log, number: int, segment: Segment, *, now_ms: int) -> int:
    """Return the age of a segment, the one with this number, whose timestamps are loaded.

    Its newest timestamp decides, with the clock of its writer (`Clock.wall_of`). A segment without
    timestamps is as old as its file. Raises LogDirError. Source: LogSegment.largestTimestamp.
    """
    try:
        time_ms = segment.max_timestamp if segment.max_timestamp >= 0 else segment.modified_ms()
    except OSError as error:
        log.fail(error)
    place, last = (log.topic_id, log.partition), log.segments.end_of(number, log.end_offset) - 1
    return now_ms - log.world.clock.wall_of(time_ms, place, last)


async def next_expiry_ms(log: Log) -> int | None:
    """Return the wall time, in milliseconds, at which the first segment is too old; None: never.

    It is in the past if the high watermark keeps the segment. Raises KafkaError, LogDirError.
    """
    segment = log.segments.first
    await perform_in_threads(log, segment.load_timestamps)
    keep_ms = log.config.retention_ms
    empty = not segment.size and segment is log.segments.active
    if not log.config.deletes or keep_ms < 0 or empty:
        return None
    now_ms = log.now_ms()
    return now_ms - age_ms(log, 0, segment, now_ms=now_ms) + keep_ms + 1


def exceeds_size(log: Log) -> bool:
    """Return whether `retention.bytes` does not keep the first segment."""
    return log.config.deletes and _by_size(log) > log.segments.first.base_offset


def _by_size(log: Log) -> int:
    """Return the offset below which whole segments exceed `retention.bytes`."""
    offset = log.segments.first.base_offset
    if log.config.retention_bytes < 0:
        return offset
    excess = log.size - log.config.retention_bytes
    for number, segment in enumerate(log.segments):
        excess -= segment.size
        if excess < 0 or (not segment.size and segment is log.segments.active):
            break
        offset = log.segments.end_of(number, log.end_offset)
    return offset


async def delete_before(log: Log, offset: int, checkpoint: Checkpoint) -> int:
    """Remove the segments that end at `offset` or before. Return their number. LogDirError."""
    offset = min(offset, log.high_watermark)
    if offset >= log.end_offset:
        async with log.writer.turn("roll"):  # a thread may be appending
            if offset >= log.end_offset:
                if log.latency.slow:
                    await roll_in_thread(log)
                else:
                    roll(log)
    gone = [
        segment
        for number, segment in enumerate(log.segments)
        if segment is not log.segments.active
        and log.segments.end_of(number, log.end_offset) <= offset
    ]
    if not gone:
        return 0
    kept = log.segments.end_of(len(gone) - 1, log.end_offset)
    log.set_start_offset(max(kept, log.start_offset))
    await checkpoint()
    async with log.writer.turn(REMOVAL):
        with trio.CancelScope(shield=True, deadline=trio.current_time() + LONGEST_S) as scope:
            removed = await _remove(log, kept)
        if scope.cancelled_caught:
            log.fail(TimeoutError(f"a removal of segments took longer than {LONGEST_S:.0f} s"))
    return removed


async def _remove(log: Log, kept: int) -> int:
    """Remove the segments and producer snapshots below `kept`. Return the number of segments.

    The caller has a turn, and shields: segments that are no longer in memory must leave no files.
    """
    if log.closed:
        log.refuse()  # its directory is removed as a whole
    log.writer.begin_generation()
    # Another call may have removed them meanwhile, or cut the log.
    gone = log.segments.remove_below(min(kept, log.start_offset))
    try:
        for segment in gone:
            segment.close()
            log.unsynced.forget(segment)
            await unlink_segment(log.directory, segment.base_offset)
        for snapshot in snapshots_among(await names_in(log.directory)):
            if snapshot < kept:
                await log.directory.unlink(offset_file(snapshot, SNAPSHOT))
        await sync_names(log.directory)
    except OSError as error:
        log.fail(error)
    return len(gone)
