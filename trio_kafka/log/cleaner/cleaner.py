"""Cleaning of one log: from its dirty part to the compacted segments in their place.

A run that is disturbed leaves the log as it was: by a truncation, a deletion, a pause, another
policy, a worker process that was killed, a full disk. The next run begins again.
"""

from typing import Final

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.cleaner.job import (
    CLEANED,
    CleanedGroup,
    CleaningError,
    CleaningJob,
    CleaningResult,
    CleaningRules,
    LastRecord,
    SealedFile,
)
from trio_kafka.log.cleaner.runner import Progress, has_columnar, run_job
from trio_kafka.log.cleaner.selection import DirtyLog
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.cleaner.swap import SupersededError, remove_new_files, swap_in
from trio_kafka.log.durability.sync import sync
from trio_kafka.log.errors import DiskFullError, typed_errors
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.segment import Segment
from trio_kafka.scheduling.chunked_work import in_slices
from trio_kafka.world.world import WorkerLostError

_PRODUCERS: Final = 1000  # handled at a time: 0.5 ms
_CLEAN_UP_S: Final = 30.0
_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class CleaningPlan:
    """A job with the segments that it reads. end_offset: where the last one ends."""

    job: CleaningJob
    segments: tuple[Segment, ...]
    end_offset: int

    def replaced_by(self, group: CleanedGroup) -> tuple[Segment, ...]:
        """Return the segments that a group replaces."""
        bases = frozenset(group.replaced)
        return tuple(segment for segment in self.segments if segment.base_offset in bases)

    def end_of(self, group: CleanedGroup) -> int:
        """Return where the segments of a group end."""
        last = group.replaced[-1]
        later = [segment for segment in self.segments if segment.base_offset > last]
        return later[0].base_offset if later else self.end_offset


async def plan(dirty: DirtyLog, settings: CleanerSettings, suffix: str) -> CleaningPlan:
    """Describe a run over a log. KafkaError, LogDirError.

    suffix: of new files, different for each run.
    """
    log, until = dirty.log, dirty.first_uncleanable_offset
    segments = tuple(segment for segment in log.segments if segment.base_offset < until)
    config = log.config
    rules = CleaningRules(
        partition=log.partition,
        now_ms=log.now_ms(),
        delete_retention_ms=config.delete_retention_ms,
        dedupe_buffer_bytes=settings.map_bytes,
        load_factor=settings.load_factor,
        io_buffer_bytes=settings.read_bytes,
        segment_bytes=config.segment_bytes,
        segment_index_bytes=config.segment_index_bytes,
        index_interval_bytes=config.index_interval_bytes,
        active_producers=await _active_producers(log),
    )
    job = CleaningJob(
        rules=rules,
        segments=tuple([await _sealed_file(log, segment) for segment in segments]),
        first_dirty_offset=dirty.first_dirty_offset,
        first_uncleanable_offset=until,
        aborted=await _aborted(log),
        suffix=suffix,
        salt=log.world.random_bytes(16),
        columnar=log.world.has_processes and has_columnar(),
    )
    return CleaningPlan(job=job, segments=segments, end_offset=until)


async def _active_producers(log: Log) -> dict[int, LastRecord]:
    await trio.lowlevel.checkpoint()
    producers: dict[int, LastRecord] = {}
    for chunk in in_slices(tuple(log.producers), _PRODUCERS):
        for producer in chunk:
            last = producer.batches[-1].last_offset if producer.batches else None
            producers[producer.producer_id] = LastRecord(last, producer.epoch)
        await trio.lowlevel.checkpoint()
    return producers


async def _sealed_file(log: Log, segment: Segment) -> SealedFile:
    await trio.lowlevel.checkpoint()
    offsets, times = await perform_in_threads(log, segment.index_sizes)
    return SealedFile(
        base_offset=segment.base_offset,
        size=segment.size,
        index_size=offsets,
        time_index_size=times,
    )


async def _aborted(log: Log) -> tuple[AbortedTransaction, ...]:
    """Return the aborted transactions of the whole log."""
    await trio.lowlevel.checkpoint()
    aborted: list[AbortedTransaction] = []
    for segment in log.segments:
        aborted += await perform_in_threads(log, segment.transactions.all)
    return tuple(aborted)


async def clean_log(
    dirty: DirtyLog, directory: LogDirectory, settings: CleanerSettings, *, progress: Progress
) -> CleaningResult:
    """Compact a log.

    Raises CleaningError for damage, and LogDirError: then the disk is broken, and its directory
    offline. The other errors leave the log as it was, or compacted up to some segment; the run may
    be repeated: SupersededError if the log was closed or has changed, DiskFullError, KafkaError,
    WorkerLostError.
    """
    log = dirty.log
    # A worker process may outlive this broker, so its names are those of one run.
    suffix = f".{log.world.random_bytes(8).hex()}{CLEANED}"
    generation = log.writer.generation
    try:
        with typed_errors():
            planned = await plan(dirty, settings, suffix)
            await _make_durable(log, directory, planned.end_offset)
            cleaned = await run_job(
                log.world,
                log.directory,
                planned.job,
                bytes_per_second=settings.bytes_per_second,
                progress=progress,
            )
            for group in cleaned.groups:
                if group.unchanged:
                    planned.replaced_by(group)[0].unreadable = group.reasons
                else:
                    await trio.lowlevel.checkpoint()  # a revoked run ends before its next swap
                    old, end = planned.replaced_by(group), planned.end_of(group)
                    await swap_in(log, planned.job, group, old=old, end_offset=end)
                    generation += 1
            await directory.write_cleaned(log, cleaned.end_offset)
    except (CleaningError, WorkerLostError, KafkaError, OSError) as error:
        if log.writer.generation != generation:  # what was read is of no use, nor is its error
            raise SupersededError(str(error)) from error
        if isinstance(error, OSError) and not isinstance(error, DiskFullError):
            log.fail(error)
        raise
    finally:
        await _clean_up(log, suffix)
    return cleaned


async def _make_durable(log: Log, directory: LogDirectory, end_offset: int) -> None:
    """Sync what a run replaces, and let the next start trust it. KafkaError, LogDirError, OSError.

    A start that reads the replaced segments would take the gaps in their offsets for a hole.
    """
    if log.recovery_point < end_offset:
        await sync(log)
    await directory.trust_below(log, end_offset)


async def _clean_up(log: Log, suffix: str) -> None:
    """Remove the new files that were not swapped in. Shielded, with a timeout."""
    with trio.CancelScope(shield=True, deadline=trio.current_time() + _CLEAN_UP_S):
        try:
            await remove_new_files(log, suffix)
        except OSError as error:
            # The next start removes them.
            path = log.directory.path
            _logger.warning("temporary files not removed", path=path, reason=str(error))
