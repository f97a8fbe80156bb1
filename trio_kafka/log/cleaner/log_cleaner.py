"""The log cleaner of a broker: `log.cleaner.threads` tasks that compact the dirtiest log first.

Each task takes the dirtiest log that is due and compacts it; then it removes the segments of
compacted logs that retention no longer keeps. Without a log that is due it sleeps until a log
changes or the earliest time comes at which one may be due (`alarm`). A log that cannot be compacted
is uncleanable, and the others go on (`attempt`). A change of settings cancels the runs, which begin
again.
Source: Kafka's LogCleaner.
"""

from functools import partial
from typing import Final, NoReturn

import trio
from attrs import evolve

from trio_kafka.errors import InvariantError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.cleaner.alarm import Alarm
from trio_kafka.log.cleaner.attempt import Failure, attempt
from trio_kafka.log.cleaner.cleaner import clean_log
from trio_kafka.log.cleaner.cleaner_thread import CleanerThread
from trio_kafka.log.cleaner.job import CleaningResult
from trio_kafka.log.cleaner.look import Look, examine_one, look_at
from trio_kafka.log.cleaner.report import report_run
from trio_kafka.log.cleaner.runner import Progress
from trio_kafka.log.cleaner.selection import DirtyLog
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.retention import next_expiry_ms, retain
from trio_kafka.log.rolling import roll

_SHORTEST_RETRY_S: Final = 1.0
_logger: Final = get_logger(__name__)


class LogCleaner:
    """Compaction of all logs of a broker.

    states: of the logs. tasks: those that compact.
    dirtiest_ratio: of the dirtiest log when one was last looked for.
    moved_bytes: read and written by finished runs.
    """

    def __init__(self, logs: LogManager, settings: CleanerSettings, node: Node) -> None:
        self.settings = settings
        self.states = CleaningStates()
        self.cleaners: list[CleanerThread] = []
        self.tasks: set[trio.lowlevel.Task] = set()
        self.dirtiest_ratio = 0.0
        self.moved_bytes = 0
        self._logs = logs
        self._alarm = Alarm()
        self.states.on_free = self._alarm.ring
        self._last_looked = trio.current_time()
        self._changed = trio.Event()
        self._node = node.add("log-cleaner", "part", self.figures)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        aside = self.states.uncleanable
        return {
            "enabled": self.settings.enabled,
            "threads": len(self.cleaners),
            "sleeping": self._alarm.sleepers,
            "dirtiest_ratio": self.dirtiest_ratio,
            "uncleanable": len(aside),
            "reasons": "; ".join(f"{log.partition}: {why}" for log, why in aside.items()) or None,
        }

    @property
    def overdue_s(self) -> float:
        """Seconds since a task has looked at the logs; 0 while one sleeps, as nothing changes."""
        return 0.0 if self._alarm.sleepers else trio.current_time() - self._last_looked

    def uncleanable(self, directory: LogDirectory) -> tuple[int, int]:
        """Return the number of uncleanable logs of a directory, and their dirty bytes."""
        count = size = 0
        for log in self.states.uncleanable:
            if directory.logs.get(log.partition) is log:
                count += 1
                first = directory.cleaned(log.partition) or 0
                size += sum(
                    segment.size
                    for segment in log.segments
                    if segment.sealed and segment.base_offset >= first
                )
        return count, size

    def configure(self, settings: CleanerSettings) -> None:
        """Use other settings from now on. Runs in progress begin again."""
        if settings != self.settings:
            self.settings = settings
            self._changed.set()

    # Tasks

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Compact logs until cancelled; started at once."""
        with self._logs.watched(self._note_change):
            task_status.started()
            while True:
                self._changed = trio.Event()
                threads = self.settings.threads if self.settings.enabled else 0
                self.cleaners = [CleanerThread(number) for number in range(threads)]
                async with trio.open_nursery() as nursery:
                    for cleaner in self.cleaners:
                        name = f"kafka-log-cleaner-thread-{cleaner.number}"
                        nursery.start_soon(self._run_cleaner, cleaner, name=name)
                    await self._changed.wait()
                    nursery.cancel_scope.cancel()

    def _note_change(self, log: Log) -> None:
        if log.closed:
            self.states.forget(log)
        elif log.config.compacts:
            self._alarm.ring()

    async def _run_cleaner(self, cleaner: CleanerThread) -> None:
        """Compact one log after the other. A failure ends this task, and is counted."""
        task = trio.lowlevel.current_task()
        with self._node.child(f"cleaner-{cleaner.number}", "task", cleaner.figures):
            self.tasks.add(task)
            try:
                while True:
                    await self._run_once(cleaner)
            except InvariantError:
                raise
            except Exception:
                cleaner.failed = True
                _logger.exception("cleaner stopped", cleaner=cleaner.number)
            finally:
                self.tasks.remove(task)

    async def _run_once(self, cleaner: CleanerThread) -> None:
        """Compact the dirtiest log; without one, wait until there may be one."""
        change, began = self._alarm.next_change(), trio.current_time()
        self._last_looked = began
        look = await look_at(self._logs, self.states)
        self.dirtiest_ratio, cleaner.delay_ms = look.ratio, look.delay_ms
        if look.chosen is not None:
            await self._clean(cleaner, look.chosen)
        await self.apply_all_retention(look)
        if look.chosen is None:
            earliest = began + self.settings.backoff_ms / 1000
            await self._alarm.wait(change, earliest=earliest, in_s=self._pause_s(look))

    def _pause_s(self, look: Look) -> float | None:
        """Return how long nothing will be due, unless a log changes; None: without a limit."""
        pauses = []
        if look.due_ms is not None:
            pauses.append(max((look.due_ms - self._logs.now_ms()) / 1000, 0.0))
        if look.retry:
            pauses.append(self._retry_s)
        return min(pauses, default=None)

    @property
    def _retry_s(self) -> float:
        return max(self.settings.backoff_ms / 1000, _SHORTEST_RETRY_S)

    # Work

    async def _clean(self, cleaner: CleanerThread, dirty: DirtyLog) -> CleaningResult | Failure:
        """Compact a log. Failure.PASSING also for a run that was cancelled.

        After such a failure other logs go first.
        """
        log = dirty.log
        directory = self._logs.directory_of(log.partition)
        if directory is None:
            await trio.lowlevel.checkpoint()
            return Failure.FINAL
        cleaner.dirty, cleaner.since, cleaner.progress = dirty, trio.current_time(), Progress()
        cleaned: CleaningResult | Failure = Failure.PASSING
        try:
            with self.states.running(log):
                call = partial(
                    clean_log, dirty, directory, self.settings, progress=cleaner.progress
                )
                cleaned = await attempt(self.states, log, directory, call=call)
        finally:
            cleaner.took_s, cleaner.dirty = trio.current_time() - cleaner.since, None
            if cleaned is Failure.PASSING:
                self.states.postpone(log, trio.current_time() + self._retry_s)
        if isinstance(cleaned, CleaningResult):
            cleaner.runs += 1
            cleaner.stats = stats = cleaned.stats
            self.moved_bytes += stats.map_bytes_read + stats.bytes_read + stats.bytes_written
            report_run(dirty, cleaned, cleaner.took_s)
        return cleaned

    async def apply_all_retention(self, look: Look | None = None) -> None:
        """Remove segments of compacted logs: by retention, and below their start offsets.

        look: notes when the next segment expires.
        """
        await trio.lowlevel.checkpoint()
        look = look or Look()
        for log in self._logs.logs:
            if log.config.compacts and self.states.is_free(log):
                look.see_expiry(log, await self.apply_retention(log))

    async def apply_retention(self, log: Log) -> int | Failure | None:
        """Remove the segments of a compacted log that retention no longer keeps.

        Return the wall time at which the next one expires, in milliseconds; None: it never does.
        Failure.PASSING also if other work has claimed the log, or revoked this one's claim.
        """
        directory = self._logs.directory_of(log.partition)
        if directory is None or not self.states.is_free(log):
            await trio.lowlevel.checkpoint()
            return Failure.PASSING
        expiry_ms: int | Failure | None = Failure.PASSING
        with self.states.retaining(log):
            call = partial(_retain, log, directory)
            expiry_ms = await attempt(self.states, log, directory, call=call)
        return expiry_ms  # noqa: RET504 - a claim that is revoked ends the block before

    async def clean_now(self, log: Log) -> CleaningResult | None:
        """Roll a log and compact all that is committed, as if it had never been compacted.

        For tests. None: nothing was compacted; if the log is uncleanable, `states` has the reason.
        """
        await trio.lowlevel.checkpoint()
        await self.states.cancel(log.partition)
        if not self.states.is_free(log):
            return None
        async with log.writer.turn("roll"):
            roll(log)
        dirty = await examine_one(self._logs, self.states, log, ignore_lag=True)
        if not isinstance(dirty, DirtyLog):
            return None
        if not dirty.total_bytes or not self.states.is_free(log):
            return None
        whole = evolve(dirty, first_dirty_offset=log.start_offset)
        cleaned = await self._clean(CleanerThread(-1), whole)
        return cleaned if isinstance(cleaned, CleaningResult) else None


async def _retain(log: Log, directory: LogDirectory) -> int | None:
    """Remove old segments; return when the next one expires."""
    await retain(log, log.now_ms(), directory.write_start_offsets)
    return await next_expiry_ms(log)
