"""Periodic work on all logs of a broker: retention, flush by time, checkpoints, old producers.

Functions for a scheduler. An error takes the directory offline; the others continue.
"""

from collections.abc import Callable
from contextlib import suppress

import trio

from trio_kafka.errors import KafkaError, LogDirError
from trio_kafka.log.durability.sync_queue import sync_if_open
from trio_kafka.log.files.checkpoints import HIGH_WATERMARKS
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.retention import delete_before, retain


async def retain_all(logs: LogManager) -> int:
    """Remove old segments of every log that is not compacted. Return their number."""
    await trio.lowlevel.checkpoint()
    gone = 0
    for directory in logs.online:
        gone += await _retain_in(directory, logs.now_ms)
    return gone


async def _retain_in(directory: LogDirectory, now_ms: Callable[[], int]) -> int:
    """Apply retention to the logs of a directory. Future logs follow the start of their logs."""
    gone = 0
    for log in tuple(directory.futures.values()):
        with suppress(KafkaError, LogDirError):  # moved or deleted meanwhile; offline
            gone += await _delete_hidden(directory, log)
    for log in tuple(directory.logs.values()):
        if log.closed or log.failed or log.config.compacts or log.writer.claim:
            continue  # the cleaner removes segments of compacted logs
        try:
            with log.writer.claimed("retention"):
                gone += await retain(log, now_ms(), directory.write_start_offsets)
        except KafkaError:
            continue  # deleted meanwhile
        except LogDirError:
            break
        except OSError as error:
            directory.fail(error)
            break
    return gone


async def _delete_hidden(directory: LogDirectory, future: Log) -> int:
    """Remove segments below the start of a future log."""
    await trio.lowlevel.checkpoint()
    if future.closed or future.failed or future.start_offset == future.segments.first.base_offset:
        return 0
    try:
        return await delete_before(future, future.start_offset, directory.write_start_offsets)
    except OSError as error:
        directory.fail(error)
        return 0


async def sync_due(logs: LogManager) -> None:
    """Sync the logs whose `flush.ms` has passed."""
    await trio.lowlevel.checkpoint()
    now = logs.now_ms()
    for log in logs.logs:
        dirty = log.recovery_point < log.end_offset
        if dirty and now - log.last_sync_ms >= log.config.flush_ms:
            await sync_if_open(log)


async def write_checkpoints(logs: LogManager, *names: str) -> None:
    """Write these checkpoints of every directory.

    Without names: recovery points, start offsets and high watermarks.
    """
    await trio.lowlevel.checkpoint()
    for directory in logs.online:
        await directory.checkpoint(*names)


async def write_high_watermarks(logs: LogManager) -> None:
    """Write high watermarks of the directories in which one has moved.

    This is done every few seconds, and costs a sync. A directory that has vanished goes offline.
    """
    await trio.lowlevel.checkpoint()
    for directory in logs.online:
        directory.check_there()
        if directory.offline is None and await directory.high_watermarks_moved():
            await directory.checkpoint(HIGH_WATERMARKS)


async def forget_producers(logs: LogManager, silent_ms: int) -> None:
    """Forget idempotent producers that have been silent for `silent_ms`.

    Source: producer.id.expiration.ms; the time of a producer is that of its last batch.
    """
    await trio.lowlevel.checkpoint()
    for log in logs.logs:
        for _ in log.producers.expire(logs.now_ms() - silent_ms):
            await trio.lowlevel.checkpoint()
