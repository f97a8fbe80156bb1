"""A leader's append by a thread, for a directory that is slow: the twin of `Log.append_as_leader`.

The same rules, the same state afterwards; between them the loop goes on. Whoever calls it holds
`Log.writing`, so that nobody cuts, closes or syncs the log meanwhile, and the log is `busy`, so
that nobody appends or rolls. It may be deleted or fail: then nothing was appended.
"""

from collections.abc import Sequence

import trio

from trio_kafka.log.append import Appended
from trio_kafka.log.log import Log
from trio_kafka.log.pace import LONG_IN_THREAD_S
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
    try:
        segment = log.segment_for(records, headers, now_ms)
        began = elapsed()
        log.busy = True
        try:
            start = await segment.file.append_slow((records,))
        finally:
            log.busy = False
        ended = elapsed()
        if ended - began > LONG_IN_THREAD_S:
            log.pace.took_long(began, ended)
        if log.failed or log.closed:
            log.refuse()
        segment.append(records, headers, log.config.index_interval_bytes, start)
    except OSError as error:
        log.fail(error)
    log.wrote(segment, start, records, headers)
    return appended
