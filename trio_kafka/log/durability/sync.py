"""Syncs of a log: batches, names and leader epochs become durable. Also its clean close.

A sync ends when old segments, the active one and all names are durable. After a failure it is never
retried.
"""

import trio

from trio_kafka.log.files.checkpoints import LEADER_EPOCHS, checkpoint_text, replace_file
from trio_kafka.log.files.descriptor_retry import when_free_now
from trio_kafka.log.files.operations import run_now
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import write_snapshot


async def sync(log: Log) -> None:
    """Make durable what was appended before the call: batches, names, epochs. LogDirError.

    Never retried after a failure. Concurrent calls wait for one another. Raises KafkaError if the
    log was closed meanwhile.
    """
    async with log.writer.turn("sync"):
        await sync_now(log)


async def sync_now(log: Log) -> None:
    """Sync as `sync` does. The caller has a turn of `Log.writer`."""
    if log.failed or log.closed:
        log.refuse()
    end, waited_for = log.end_offset, log.durable_end < log.end_offset
    try:
        if log.unsynced.new:
            await log.lower_checkpoints(log)
        with log.latency.syncs.noting(log.partition):
            await write_epochs(log)
            await log.unsynced.sync(log.segments.active)
    except OSError as error:
        log.fail(error)
    log.last_sync_ms = log.now_ms()
    log.recovery_point = max(log.recovery_point, end)
    if waited_for:
        log.on_durable()


async def write_epochs(log: Log) -> None:
    """Replace the file of leader epochs if they have changed. OSError."""
    if log.epochs.dirty:
        rows = log.epochs.rows
        await replace_file(log.directory, LEADER_EPOCHS, checkpoint_text(rows))
        log.epochs.dirty = rows != log.epochs.rows


def write_producers(log: Log) -> None:
    """Write a producer snapshot, unless the next load needs none. Idle logs are not written to."""
    if log.producers.loads_at == log.end_offset:
        return
    files = log.segments.active.files
    snapshot = write_snapshot(log.directory, files, log.end_offset, producers=log.producers)
    log.unsynced.wrote(run_now(snapshot))


async def close(log: Log) -> None:
    """Write indexes and producers, sync all, close the files, in this order. LogDirError."""
    if log.closed:
        await trio.lowlevel.checkpoint()
        return
    async with log.writer.turn("close"):
        if not log.failed:
            try:
                await when_free_now(lambda: run_now(log.segments.active.write_indexes()))
                await when_free_now(lambda: write_producers(log))
            except OSError as error:
                log.fail(error)
            await sync_now(log)
        log.abandon()
