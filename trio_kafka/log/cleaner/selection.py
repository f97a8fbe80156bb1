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
from trio_kafka.log.config import MAX_LONG
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.log import Log
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.scan.walk import STOP, walk
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import BatchHeader

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class DirtyLog:
    """A log with its dirty part.

    first_dirty_offset: end of the last run. first_uncleanable_offset: base offset of the first
    segment that must stay as it is.
    reset: the checkpoint contradicts the log, which is dirty from its start.
    clean_bytes: of the segments that begin below the dirty part. cleanable_bytes: of the segments
    with a dirty offset that can be compacted.
    delay_ms: how long a dirty record has been older than `max.compaction.lag.ms`; 0: none is.
    due_ms: wall time, in milliseconds, at which a lag ends: more can be compacted then, or the log
    is due. None: time alone changes nothing.
    awaited_commit: high watermark at which more can be compacted; None: commits change nothing.
    """

    log: Log
    first_dirty_offset: int
    first_uncleanable_offset: int
    reset: bool
    clean_bytes: int
    cleanable_bytes: int
    delay_ms: int
    due_ms: int | None
    awaited_commit: int | None

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
    stable_end = _stable_end(log)
    until, least_due_ms = await _first_uncleanable(
        log, first, stable_end, now_ms=now_ms, least_ms=least_ms
    )
    most_due_ms = await _most_due_ms(log, first)
    clean, cleanable = _sizes(log, first, until)
    return DirtyLog(
        log=log,
        first_dirty_offset=first,
        first_uncleanable_offset=until,
        reset=reset,
        clean_bytes=clean,
        cleanable_bytes=cleanable,
        delay_ms=max(now_ms - most_due_ms + 1, 0),
        due_ms=min(
            (due for due in (least_due_ms, most_due_ms) if now_ms < due < MAX_LONG), default=None
        ),
        awaited_commit=_awaited_commit(log, stable_end),
    )


def _sizes(log: Log, first_dirty: int, until: int) -> tuple[int, int]:
    """Return the bytes of the clean segments, and of the dirty ones below `until`.

    The segment that holds `first_dirty` counts in both unless it begins there: a full key map left
    its rest dirty. Source: Kafka's LogToClean, CleanerUtils.calculateCleanableBytes.
    """
    clean = cleanable = 0
    for number, segment in enumerate(log.segments):
        if segment.base_offset >= until:
            break
        if segment.base_offset < first_dirty:
            clean += segment.size
        if log.segments.end_of(number, log.end_offset) > first_dirty:
            cleanable += segment.size
    return clean, cleanable


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


def _stable_end(log: Log) -> int:
    """Return the base offset of the segment in which the last stable offset lies."""
    stable = log.segments.at(log.segments.floor(log.last_stable_offset))
    until = log.segments.active.base_offset
    return until if stable is None else min(until, stable.base_offset)


def _awaited_commit(log: Log, stable_end: int) -> int | None:
    """Return the next high watermark at which `_stable_end` may grow.

    An open transaction holds it back too. Its marker is committed before it counts as ended.
    """
    if stable_end == log.segments.active.base_offset:
        return None
    end = log.segments.end_of(log.segments.floor(stable_end), log.end_offset)
    return max(end, log.high_watermark + 1)


async def _first_uncleanable(
    log: Log, first_dirty: int, stable_end: int, *, now_ms: int, least_ms: int
) -> tuple[int, int]:
    """Return the base offset of the first segment that must stay as it is, and when it need not.

    The second is the wall time at which its last record is `least_ms` old, MAX_LONG: no lag holds
    it back.
    """
    if least_ms > 0:
        for segment in _dirty_segments(log, first_dirty):
            if segment.base_offset >= stable_end:
                break
            await perform_in_threads(log, segment.load_timestamps)
            if segment.max_timestamp > now_ms - least_ms:
                return segment.base_offset, segment.max_timestamp + least_ms
    return stable_end, MAX_LONG


async def _most_due_ms(log: Log, first_dirty: int) -> int:
    """Return the wall time from which the oldest dirty segment is older than the largest lag.

    MAX_LONG: `max.compaction.lag.ms` is not set, or no dirty record has a time.
    """
    most_ms = log.config.max_compaction_lag_ms
    if most_ms >= MAX_LONG:
        return MAX_LONG
    oldest = MAX_LONG
    for segment in _dirty_segments(log, first_dirty):
        if segment.rolling_timestamp is None and segment.size:
            await perform_in_threads(log, partial(_load_first, segment))
        time = segment.rolling_timestamp
        if time is not None and time > 0:
            oldest = min(oldest, time)
    return min(oldest + most_ms + 1, MAX_LONG)


def _dirty_segments(log: Log, first_dirty: int) -> list[Segment]:
    """Return the sealed segments that hold `first_dirty` or later offsets."""
    segments = []
    number = log.segments.floor(first_dirty)
    while (segment := log.segments.at(number)) is not None and segment.sealed:
        segments.append(segment)
        number += 1
    return segments


def _load_first(segment: Segment) -> FileWork[None]:
    """Read the timestamp of the first batch of a sealed segment."""

    def see(position: int, header: BatchHeader) -> object:
        del position
        segment.rolling_timestamp = header.max_timestamp
        return STOP

    yield from walk(segment.file, 0, see)
