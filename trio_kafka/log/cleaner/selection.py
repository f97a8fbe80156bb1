"""Selection of logs: the part that can be compacted, and whether it is due.

The dirty part begins where the last run ended. Nothing is compacted in the active segment, above
the last stable offset, or in segments with a record younger than `min.compaction.lag.ms`. A log is
due when the dirty share of its bytes exceeds `min.cleanable.dirty.ratio`, or when a dirty record is
older than `max.compaction.lag.ms`.
Source: Kafka's LogCleanerManager; KIP-58, KIP-354.
"""

from functools import partial
from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.batch_scan import STOP, walk
from trio_kafka.log.config import MAX_LONG
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.log import Log
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import BatchHeader

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class DirtyLog:
    """A log with its dirty part.

    first_dirty_offset: end of the last run. first_uncleanable_offset: base offset of the first
    segment that must stay as it is.
    reset: the checkpoint contradicts the log, which is dirty from its start.
    clean_bytes: of the segments below the dirty part. cleanable_bytes: of the dirty segments that
    can be compacted.
    delay_ms: how long a dirty record has been older than `max.compaction.lag.ms`; 0: none is.
    """

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    reset: bool
    clean_bytes: int
    cleanable_bytes: int
    delay_ms: int

    @property
    def total_bytes(self) -> int:
        return self.clean_bytes + self.cleanable_bytes

    @property
    def ratio(self) -> float:
        """Dirty share of the bytes that can be compacted."""
        return self.cleanable_bytes / self.total_bytes if self.total_bytes else 0.0

    @property
    def due(self) -> bool:
        """True if the log should be compacted now."""
        if self.delay_ms > 0 and self.cleanable_bytes > 0:
            return True
        return self.ratio > self.log.config.min_cleanable_dirty_ratio


async def examine(
    log: Log, cleaned: int | None, now_ms: int, *, ignore_lag: bool = False
) -> DirtyLog:
    """Find the dirty part of a log. KafkaError, LogDirError.

    cleaned: offset up to which it was compacted; None: never.
    ignore_lag: also segments younger than `min.compaction.lag.ms`.
    """
    await trio.lowlevel.checkpoint()
    first, reset = _first_dirty(log, cleaned)
    least_ms = 0 if ignore_lag else log.config.min_compaction_lag_ms
    until = await _first_uncleanable(log, first, now_ms - least_ms if least_ms > 0 else None)
    clean = cleanable = 0
    for segment in log.segments:
        if segment.base_offset >= until:
            break
        if segment.base_offset < first:
            clean += segment.size
        else:
            cleanable += segment.size
    return DirtyLog(
        log=log,
        first_dirty_offset=first,
        first_uncleanable_offset=until,
        reset=reset,
        clean_bytes=clean,
        cleanable_bytes=cleanable,
        delay_ms=await _delay_ms(log, first, now_ms),
    )


def _first_dirty(log: Log, cleaned: int | None) -> tuple[int, bool]:
    """Return the first dirty offset, and whether the checkpoint contradicts the log."""
    start, end = log.start_offset, log.end_offset
    if cleaned is None:
        return start, False
    if start <= cleaned <= end:
        return cleaned, False
    if cleaned > end or not log.config.deletes:
        _logger.warning(
            "checkpoint of the cleaner ignored",
            partition=str(log.partition),
            found=cleaned,
            start=start,
            end=end,
        )
    return start, True


async def _first_uncleanable(log: Log, first_dirty: int, newest_ms: int | None) -> int:
    """Return the base offset of the first segment that must stay as it is.

    newest_ms: no segment with a later record is compacted; None: no bound.
    """
    stable = log.segments.at(log.segments.floor(log.last_stable_offset))
    until = log.segments.active.base_offset
    if stable is not None:
        until = min(until, stable.base_offset)
    if newest_ms is not None:
        for segment in _dirty_segments(log, first_dirty):
            if segment.base_offset >= until:
                break
            await perform_in_threads(log, segment.load_timestamps)
            if segment.max_timestamp > newest_ms:
                return segment.base_offset
    return until


async def _delay_ms(log: Log, first_dirty: int, now_ms: int) -> int:
    """Return how long the oldest dirty segment has been older than `max.compaction.lag.ms`."""
    most_ms = log.config.max_compaction_lag_ms
    if most_ms >= MAX_LONG:
        return 0
    oldest = MAX_LONG
    for segment in _dirty_segments(log, first_dirty):
        if segment.rolling_timestamp is None and segment.size:
            await perform_in_threads(log, partial(_load_first, segment))
        time = segment.rolling_timestamp
        if time is not None and time > 0:
            oldest = min(oldest, time)
    return max(now_ms - most_ms - oldest, 0)


def _dirty_segments(log: Log, first_dirty: int) -> list[Segment]:
    """Return the sealed segments that hold `first_dirty` or later offsets."""
    found = []
    number = log.segments.floor(first_dirty)
    while (segment := log.segments.at(number)) is not None and segment.sealed:
        found.append(segment)
        number += 1
    return found


def _load_first(segment: Segment) -> FileWork[None]:
    """Read the timestamp of the first batch of a sealed segment."""

    def see(position: int, header: BatchHeader) -> object:
        del position
        segment.rolling_timestamp = header.max_timestamp
        return STOP

    yield from walk(segment.file, 0, see)
