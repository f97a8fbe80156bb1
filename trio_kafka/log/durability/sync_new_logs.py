"""Syncs of new logs: their names and their `partition.metadata`, many together.

One thread syncs many logs: singly, each would cost five threads and as many journal writes. Appends
    made meanwhile are not claimed to be durable.
"""

from collections.abc import Sequence
from typing import Final

import trio

from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.files.descriptor_retry import when_free
from trio_kafka.log.log import Log
from trio_kafka.log.unsynced_files import UnsyncedFiles
from trio_kafka.world.protocols import Directory

_logger: Final = get_logger(__name__)


def is_empty(log: Log) -> bool:
    """Return whether the log is new and empty, so that `sync_new` is enough."""
    return (
        log.unsynced.new
        and log.end_offset == log.recovery_point
        and len(log.segments) == 1
        and not log.epochs.dirty
    )


async def sync_new(logs: Sequence[Log]) -> list[Log]:
    """Sync the names of new logs of one directory. An error takes it offline.

    Returns the logs that were not synced, as they are busy or as one was deleted meanwhile.
    """
    await trio.lowlevel.checkpoint()
    held: list[Log] = []
    try:
        held.extend(log for log in logs if _hold(log))
        await _sync(held)
    except FileNotFoundError:
        return [log for log in logs if not log.closed]
    except OSError as error:
        _fail(held, error)
    finally:
        for log in held:
            log.writer.end_turn()
    return [log for log in logs if log.unsynced.new and not log.closed and not log.failed]


def _hold(log: Log) -> bool:
    """Take a turn if there is one at once."""
    try:
        log.writer.turn_nowait("sync")
    except trio.WouldBlock:
        return False
    return True


async def _sync(logs: Sequence[Log]) -> None:
    """Sync the logs that are still new. OSError."""
    if logs:
        await logs[0].lower_checkpoints(*logs)

    async def attempt() -> None:
        new_logs = [log for log in logs if log.unsynced.new and not log.closed and not log.failed]
        parent: Directory | None = new_logs[0].unsynced.parent if new_logs else None
        if parent is not None:
            with new_logs[0].latency.syncs.noting(*(log.partition for log in new_logs)):
                await UnsyncedFiles.sync_new(parent, [log.unsynced for log in new_logs])
            for log in new_logs:
                if log.end_offset == log.recovery_point:
                    log.last_sync_ms = log.now_ms()

    await when_free(attempt)


def _fail(logs: Sequence[Log], error: OSError) -> None:
    """Fail the directory, as its durable state is unknown."""
    for log in logs:
        if not log.closed:
            try:
                log.fail(error)
            except LogDirError as failure:
                _logger.warning("sync failed", partition=str(log.partition), reason=str(failure))
            return
