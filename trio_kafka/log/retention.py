"""Retention: remove old segments by age, by size, and below the start offset.

Segments are removed from the oldest on, never above the high watermark. The active one is removed
    after another has begun. The start offset is durable before the first name is removed: a crash
    may lose names in any order, and a gap must not look like data. No batch is read to decide.
Source: retention.ms, retention.bytes, DeleteRecords (KIP-107).
"""

from collections.abc import Awaitable, Callable

from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.files.names import SNAPSHOT, offset_file
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import snapshots_among
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.rolling import roll, roll_in_thread
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import unlink_segment

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
        if empty or age_ms(log, number, segment, now_ms) <= keep_ms:
            break
        offset = log.segments.end_of(number, log.end_offset)
    return offset


def age_ms(log: Log, number: int, segment: Segment, now_ms: int) -> int:
    """Return the age of a segment, the one with this number, whose timestamps are loaded.

    Its newest timestamp decides, with the clock of its writer (`Clock.wall_of`). A segment without
    timestamps is as old as this process has known it.
    """
    if segment.max_timestamp < 0:
        return now_ms - segment.created_ms
    place, last = (log.topic_id, log.partition), log.segments.end_of(number, log.end_offset) - 1
    return now_ms - log.world.clock.wall_of(segment.max_timestamp, place, last)


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
        async with log.writing:  # a thread may be appending
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
    async with log.writing:
        log.deleting = True
        log.cuts += 1
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
        log.deleting = False
    return len(gone)
