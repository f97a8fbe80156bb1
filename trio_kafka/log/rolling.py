"""Rolls: seal the active segment of a log and begin the next one.

Files are created first: without a free descriptor nothing has changed. Nothing is durable before
    the next sync. The file operations of a roll are performed in the loop or in threads. Meanwhile
    the log's writer blocks appends, other rolls and cuts.
Source: segment.bytes, segment.ms, segment.jitter.ms, segment.index.bytes.
"""

from contextlib import suppress

import trio

from trio_kafka.errors import KafkaError
from trio_kafka.log.files.operations import FileWork, run_in_threads, run_now
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import write_snapshot
from trio_kafka.log.segment import Segment
from trio_kafka.world.protocols import File


def roll(log: Log) -> None:
    """Begin a new segment, unless the active one is empty. LogDirError."""
    run_now(_rolling(log))


async def roll_in_thread(log: Log) -> None:
    """Begin a new segment as `roll` does; threads make its files. The caller has a turn."""
    await _in_threads(_rolling(log))


async def skip_in_thread(log: Log, offset: int) -> None:
    """Begin a new segment at `offset`, the end of the log from now on; no record is before it.

    A compacted log may end so. The caller has a turn. LogDirError.
    """
    await _in_threads(_skipping(log, offset))


async def _in_threads(work: FileWork[None]) -> None:
    """Perform a roll in threads. Shielded: a file that is left would fail the next roll.

    No deadline would help: threads that create files cannot be interrupted.
    """
    with trio.CancelScope(shield=True):
        await run_in_threads(work)


def _skipping(log: Log, offset: int) -> FileWork[None]:
    with log.blocking_appends("roll"):
        try:
            yield from begin_segment(log, offset, log.now_ms())
        except OSError as error:
            log.fail(error)
        log.end_offset = offset


def _rolling(log: Log) -> FileWork[None]:
    with log.blocking_appends("roll"):
        try:
            if log.segments.active.size:
                yield from begin_segment(log, log.end_offset, log.now_ms())
        except OSError as error:
            log.fail(error)


def begin_segment(log: Log, base_offset: int, now_ms: int) -> FileWork[Segment]:
    """Begin a segment, unless the active one is empty and begins there. OSError.

    The caller blocks appends.

    Raises KafkaError(REPLICA_NOT_AVAILABLE) without a free descriptor; KafkaError, LogDirError if
    the log was closed or has failed meanwhile.
    """
    active = log.segments.active
    if active.base_offset == base_offset:  # empty: a setting alone made it full
        return active
    yield from active.write_indexes()
    active.trim()
    segment = yield from Segment.create(
        log.directory, base_offset, now_ms, files=active.files, reserve=log.config.reserve
    )
    snapshot: File | None = None
    try:
        with suppress(KafkaError):  # no descriptor: the next load begins with an older snapshot
            snapshot = yield from write_snapshot(
                log.directory, active.files, base_offset, producers=log.producers
            )
        if log.closed or log.failed:
            if snapshot is not None:
                snapshot.close()
            active.close()
            log.refuse()
    except BaseException:
        segment.close()
        raise
    active.seal()
    log.unsynced.sealed(active)
    if snapshot is not None:
        log.unsynced.wrote(snapshot)
    log.segments.add(segment)
    log.draw_jitter()
    log.wants_sync(log)
    log.on_change(log)
    return segment
