"""Look at all logs: the dirtiest one that is due, and what would make another one due.

Source: Kafka's LogCleanerManager.grabFilthiestCompactedLog.
"""

from functools import partial

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.cleaner.attempt import Failure, attempt
from trio_kafka.log.cleaner.selection import DirtyLog, examine
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager


@define(eq=False)
class Look:
    """Result of one look at all logs. chosen: the dirtiest log that is due.

    ratio: of the dirtiest log. delay_ms: longest delay behind `max.compaction.lag.ms`.
    due_ms: earliest wall time at which a log may be due, or expire; None: time changes nothing.
    retry: a log was busy, or an attempt has failed that may succeed later.
    """

    chosen: DirtyLog | None = field(default=None, init=False)
    ratio: float = field(default=0.0, init=False)
    delay_ms: int = field(default=0, init=False)
    due_ms: int | None = field(default=None, init=False)
    retry: bool = field(default=False, init=False)

    def see(self, dirty: DirtyLog) -> None:
        """Note a log with its dirty part."""
        self.note_due(dirty.due_ms)
        if dirty.awaited_commit is not None:
            dirty.log.await_commit(dirty.awaited_commit)
        if not dirty.total_bytes:
            return
        self.ratio = max(self.ratio, dirty.ratio)
        self.delay_ms = max(self.delay_ms, dirty.delay_ms)
        if dirty.due and (self.chosen is None or dirty.ratio > self.chosen.ratio):
            self.chosen = dirty

    def see_expiry(self, log: Log, due_ms: int | Failure | None) -> None:
        """Note when a log loses its next segment; one that is held back by the high watermark goes
        after the next commit.
        """
        if isinstance(due_ms, Failure):
            self.retry |= due_ms is Failure.PASSING
        elif due_ms is not None and due_ms > log.now_ms():
            self.note_due(due_ms)
        elif due_ms is not None and log.high_watermark < log.end_offset:
            log.await_commit(log.high_watermark + 1)

    def note_due(self, due_ms: int | None) -> None:
        """Note a time at which a log may be due, or expire."""
        if due_ms is not None:
            self.due_ms = due_ms if self.due_ms is None else min(self.due_ms, due_ms)


async def look_at(logs: LogManager, states: CleaningStates) -> Look:
    """Look at all logs that may be compacted."""
    await trio.lowlevel.checkpoint()
    look = Look()
    for log in logs.logs:
        if not log.config.compacts or not states.is_usable(log):
            continue
        if not states.is_ready(log):
            look.retry = True
            continue
        dirty = await examine_one(logs, states, log)
        if isinstance(dirty, DirtyLog):
            look.see(dirty)
        elif dirty is Failure.PASSING:
            look.retry = True
    # Another task may have taken it while this one looked at others.
    if look.chosen is not None and not states.is_ready(look.chosen.log):
        look.chosen, look.retry = None, True
    return look


async def examine_one(
    logs: LogManager, states: CleaningStates, log: Log, *, ignore_lag: bool = False
) -> DirtyLog | Failure:
    """Find the dirty part of a log. ignore_lag: see `examine`."""
    directory = logs.directory_of(log.partition)
    if directory is None:
        await trio.lowlevel.checkpoint()
        return Failure.FINAL
    call = partial(_examine, log, directory, ignore_lag=ignore_lag)
    return await attempt(states, log, directory, call=call)


async def _examine(log: Log, directory: LogDirectory, *, ignore_lag: bool) -> DirtyLog:
    """Find the dirty part of a log; write a checkpoint that contradicts it anew."""
    cleaned = directory.cleaned(log.partition)
    dirty = await examine(log, cleaned, log.now_ms(), ignore_lag=ignore_lag)
    if dirty.reset:
        await directory.write_cleaned(log, dirty.first_dirty_offset)
    return dirty
