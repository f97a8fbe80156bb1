"""A leader's append by a thread, for a directory that is slow: the twin of `Log.append_as_leader`,
and of `Log.roll`.

The same rules, the same state afterwards; between them the loop goes on. Whoever calls it holds
`Log.writing`, so that nobody cuts, closes or syncs the log meanwhile, and the log is `busy`, so
that nobody appends or rolls. It may be deleted or fail: then nothing was appended.
"""

from collections.abc import Sequence

import trio

from trio_kafka.log.append import Appended
from trio_kafka.log.disk_latency import LONG_IN_THREAD_S
from trio_kafka.log.log import Log
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import BatchHeader


async def append_slow(
    log: Log, records: memoryview, headers: Sequence[BatchHeader], leader_epoch: int
) -> Appended:
    """See `Log.append_as_leader`. Shielded once it writes: what is written is known to the log.

    Raises as that does, and KafkaError(NOT_LEADER_OR_FOLLOWER) where the log was closed meanwhile.
    """
    now_ms = log.now_ms()
    appended = log.place(records, headers, leader_epoch, now_ms)
    if appended.duplicate:
        await trio.lowlevel.checkpoint()
        return appended
    elapsed = log.pace.elapsed
    if log.failed or log.closed or log.busy:
        log.refuse()
    try:
        began = elapsed()
        log.busy = True
        try:
            segment = await _segment_for(log, records, headers, now_ms)
            start = await segment.append_slow(records)
        finally:
            log.busy = False
        ended = elapsed()
        if ended - began > LONG_IN_THREAD_S:
            log.pace.took_long(began, ended)
    except OSError as error:
        log.fail(error)
    log.take_over(segment, records, headers, start)
    return appended


async def _segment_for(
    log: Log, records: memoryview, headers: Sequence[BatchHeader], now_ms: int
) -> Segment:
    """As `Log.segment_for`; where a new segment begins, threads make its files."""
    active, jitter_ms = log.segments.active, log.rolling.jitter_ms
    if not active.should_roll(log.config, jitter_ms, now_ms, records, headers):
        return active
    return await _begin_segment(log, headers[0].base_offset, now_ms)


async def roll_slow(log: Log) -> None:
    """As `Log.roll`, with files that threads make; for one who holds `writing`."""
    if log.failed or log.closed or log.busy:
        log.refuse()
    log.busy = True
    try:
        if log.segments.active.size:
            await _begin_segment(log, log.end_offset, log.now_ms())
    except OSError as error:
        log.fail(error)
    finally:
        log.busy = False


async def _begin_segment(log: Log, base_offset: int, now_ms: int) -> Segment:
    """OSError; KafkaError, LogDirError where the log was closed or has failed meanwhile."""
    active = log.segments.active
    segment = await log.rolling.begin_slow(
        base_offset, now_ms, log.config, log.producers, lambda: not (log.closed or log.failed)
    )
    if segment is None:
        log.refuse()
    if segment is not active:
        log.wants_sync(log)
    return segment
