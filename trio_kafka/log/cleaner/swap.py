"""Swap of a compacted segment into its log, in place of the segments that it replaces.

The new files are durable before they are renamed to `.swap`, which is the point of no return: after
a crash the next start completes the swap (`recovery.leftovers`). From then on the log reads the new
segment, under whatever name its files have. The old files get the suffix `.deleted`. Readers that
hold leases on them read on.

Old segments that end above the last record of the new one are removed from the lowest on, each
durably. A start would not recognize them, and an old value must not outlive its tombstone.
Source: Kafka's LocalLog.replaceSegments and LogLoader.
"""

from collections.abc import Sequence
from contextlib import suppress
from functools import partial
from typing import Final

import trio

from trio_kafka.errors import LogDirError
from trio_kafka.log.cleaner.job import CleanedGroup, CleaningJob
from trio_kafka.log.errors import DiskFullError, typed_errors
from trio_kafka.log.files.descriptor_retry import names_in, sync_names, when_free_now
from trio_kafka.log.files.names import (
    DELETED,
    INDEX,
    LOG,
    SEGMENT_FILES,
    SNAPSHOT,
    SWAP,
    TIME_INDEX,
    TRANSACTION_INDEX,
    offset_file,
)
from trio_kafka.log.files.operations import FileWork, run_in_threads
from trio_kafka.log.log import Log
from trio_kafka.log.scan.walk import walk
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import BatchHeader

LONGEST_S: Final = 300.0  # waits for the disk and for descriptors included


class SupersededError(Exception):
    """Raised when the log has changed during a run, so that its result is of no use."""


async def sync_new_files(log: Log, job: CleaningJob, group: CleanedGroup) -> None:
    """Make the new files of a group durable. OSError."""
    suffixes = [LOG, INDEX, TIME_INDEX] + [TRANSACTION_INDEX] * (group.transactions > 0)
    for suffix in suffixes:
        name = job.name(group.base_offset, suffix)
        file = await when_free_now(partial(log.directory.open, name))
        try:
            await file.sync()
        finally:
            file.close()


async def swap_in(
    log: Log, job: CleaningJob, group: CleanedGroup, *, old: Sequence[Segment], end_offset: int
) -> None:
    """Replace segments of a log by the one that a run has made of them. LogDirError.

    old: the replaced segments, as they were when the run began. end_offset: where they end.
    Shielded, as a log with half a swap is useless; after LONGEST_S the log fails.
    Raises SupersededError if the log has changed meanwhile, DiskFullError; the log is as before.
    """
    with trio.CancelScope(shield=True, deadline=trio.current_time() + LONGEST_S) as scope:
        try:
            with typed_errors():
                await sync_new_files(log, job, group)
            async with log.writer.turn("swap"):
                _check(log, old, end_offset)
                log.compacted_until = max(log.compacted_until, end_offset)
                await _swap(log, job, group, old=old)
            await _remove_old(log, old)
        except DiskFullError:
            raise
        except OSError as error:
            if log.closed and log.failed is None:
                raise SupersededError(f"{log.partition} was deleted") from error
            log.fail(error)
    if scope.cancelled_caught:
        log.fail(TimeoutError(f"a swap of segments took longer than {LONGEST_S:.0f} s"))


def _check(log: Log, old: Sequence[Segment], end_offset: int) -> None:
    """Raise SupersededError unless the segments are those of the log."""
    if log.failed is not None:
        raise LogDirError(log.failed.path, str(log.failed))
    _check_open(log)
    if not log.config.compacts:
        raise SupersededError(f"{log.partition}: the cleanup policy was changed during the run")
    if not log.segments.has(old):
        raise SupersededError(f"{log.partition}: segments were cut or removed during the run")
    if log.recovery_point < end_offset:
        raise SupersededError(f"{log.partition}: not durable up to {end_offset}")


def _check_open(log: Log) -> None:
    if log.closed:
        raise SupersededError(f"{log.partition} was closed")


async def _swap(log: Log, job: CleaningJob, group: CleanedGroup, *, old: Sequence[Segment]) -> None:
    """Rename and replace. The caller has a turn. OSError."""
    new = await when_free_now(lambda: _open(log, job, group))
    new.created_ms = max(segment.created_ms for segment in old)
    new.unreadable = group.reasons
    try:
        # Retention of records without timestamps goes by this. Source: Cleaner.cleanSegments.
        new.file.set_modified_ms(max(segment.modified_ms() for segment in old))
        last_offset = await run_in_threads(_last_offset(new))
        await _commit(log, new, empty=not group.size)
    except BaseException:
        new.close()
        raise
    log.segments.replace(old, new)
    log.writer.begin_generation()
    # The first one has the name of the new one, which a start completes in any case.
    covered = max(sum(segment.base_offset <= last_offset for segment in old), 1)
    _retire(log, old[:covered])
    await _sync(log)
    for segment in old[covered:]:
        _retire(log, [segment])
        await _sync(log)
    new.rename_indexes("")
    await _sync(log)
    new.rename_file("")
    await sync_names(log.directory)


def _open(log: Log, job: CleaningJob, group: CleanedGroup) -> Segment:
    """Open the new segment. OSError, KafkaError without a free descriptor."""
    _check_open(log)
    files = log.segments.active.files
    return Segment.open(
        log.directory, group.base_offset, log.now_ms(), files=files, suffix=job.suffix
    )


def _last_offset(new: Segment) -> FileWork[int]:
    """Find the last offset in a new segment; its base offset minus one if it is empty."""
    last = new.base_offset - 1

    def see(position: int, header: BatchHeader) -> None:
        nonlocal last
        del position
        last = header.last_offset

    yield from new.offsets.entries.load()
    entry = new.offsets.last
    yield from walk(new.file, entry[1] if entry else 0, see)
    return last


async def _commit(log: Log, new: Segment, *, empty: bool) -> None:
    """Give the files of a new segment the suffix `.swap`, durably. OSError."""
    _check_open(log)
    new.rename_indexes(SWAP)
    if empty:  # otherwise a start takes the empty file for damage
        await _sync(log)
    new.rename_file(SWAP)
    await _sync(log)


async def _sync(log: Log) -> None:
    """Make names durable. Raises SupersededError if the log was deleted meanwhile; OSError.

    The name of its directory may be that of another log then.
    """
    await sync_names(log.directory)
    _check_open(log)


def _retire(log: Log, old: Sequence[Segment]) -> None:
    """Rename the files of replaced segments, and close them. OSError."""
    for segment in old:
        log.unsynced.forget(segment)
        segment.close()
        segment.rename_indexes(DELETED)
        segment.rename_file(DELETED)


async def _remove_old(log: Log, old: Sequence[Segment]) -> None:
    """Remove the files of replaced segments, and the snapshots at which none begins. OSError."""
    bases = [segment.base_offset for segment in old]
    names = [offset_file(base, kind) + DELETED for base in bases for kind in SEGMENT_FILES]
    names += [offset_file(base, SNAPSHOT) for base in bases[1:]]
    for name in names:
        if log.closed:
            return  # all of the directory is removed later
        if log.directory.exists(name):
            await log.directory.unlink(name)


async def remove_new_files(log: Log, suffix: str) -> None:
    """Remove the files that a run has left under names with this suffix. OSError."""
    if log.closed or log.failed:
        await trio.lowlevel.checkpoint()
        return
    for name in await names_in(log.directory):
        if name.endswith(suffix) and not log.closed:
            with suppress(FileNotFoundError):
                await log.directory.unlink(name)
