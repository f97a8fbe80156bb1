"""The log cleaner of a broker: `log.cleaner.threads` tasks that compact the dirtiest log first.

Each task takes the dirtiest log that is due and compacts it; then it removes the segments of
compacted logs that retention no longer keeps. Without a log that is due it pauses for
`log.cleaner.backoff.ms`, and up to five minutes while no log changes, so that an idle broker
sleeps. A log that cannot be compacted is set aside, and the others go on. A change of settings
cancels the runs, which begin again.
Source: Kafka's LogCleaner.
"""

from collections.abc import Awaitable, Callable
from functools import partial
from typing import Final, NoReturn, TypeVar

import trio
from attrs import evolve, field

from trio_kafka.attributes import define
from trio_kafka.errors import InvariantError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures, Node
from trio_kafka.log.cleaner.cleaner import clean_log
from trio_kafka.log.cleaner.job import Cleaned, CleaningStats
from trio_kafka.log.cleaner.runner import Progress
from trio_kafka.log.cleaner.selection import DirtyLog, examine
from trio_kafka.log.cleaner.settings import CleanerSettings
from trio_kafka.log.cleaner.states import CleaningStates
from trio_kafka.log.files.descriptor_retry import is_exhaustion
from trio_kafka.log.log import Log
from trio_kafka.log.manager.directory import LogDirectory
from trio_kafka.log.manager.log_manager import LogManager
from trio_kafka.log.retention import retain
from trio_kafka.log.rolling import roll

T = TypeVar("T")
_LONGEST_PAUSE_S: Final = 300.0  # while nothing changes
_MOST_DOUBLINGS: Final = 20
_logger: Final = get_logger(__name__)


@define(eq=False)
class Cleaner:
    """One task of the cleaner, and what its last run did.

    dirty, progress: of the run in progress. stats, took_s: of the last run. delay_ms: longest delay
    behind `max.compaction.lag.ms` before it.
    """

    number: int
    dirty: DirtyLog | None = field(default=None, init=False)
    progress: Progress = field(factory=Progress, init=False)
    stats: CleaningStats | None = field(default=None, init=False)
    took_s: float = field(default=0.0, init=False)
    delay_ms: int = field(default=0, init=False)
    runs: int = field(default=0, init=False)
    since: float = field(default=0.0, init=False)
    failed: bool = field(default=False, init=False)
    # Rounds without a change of any log, and the state of all logs after the last one.
    idle: int = field(default=0, init=False)
    seen: tuple[int, ...] = field(default=(), init=False)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        dirty, progress = self.dirty, self.progress
        return {
            "partition": str(dirty.log.partition) if dirty else None,
            "bytes": dirty.total_bytes if dirty else 0,
            "moved": progress.moved if dirty else 0,
            "offset": progress.offset if dirty else 0,
            "phase": ("keys" if progress.indexing else "records") if dirty else None,
            "worker": dirty.log.world.has_processes if dirty else False,
            "running_s": trio.current_time() - self.since if dirty else 0.0,
            "throttled_s": progress.throttled_s,
            "runs": self.runs,
            "last_took_s": self.took_s,
            "failed": self.failed,
        }


class LogCleaner:
    """Compaction of all logs of a broker.

    states: of the logs. dirtiest_ratio: of the dirtiest log when one was last looked for.
    last_looked: when that was, monotonic seconds. moved_bytes: read and written by finished runs.
    """

    def __init__(self, logs: LogManager, settings: CleanerSettings, node: Node) -> None:
        self.settings = settings
        self.states = CleaningStates()
        self.cleaners: list[Cleaner] = []
        self.dirtiest_ratio = 0.0
        self.last_looked = trio.current_time()
        self.moved_bytes = 0
        self._logs = logs
        self._changed = trio.Event()
        self._delay_ms = 0
        self._node = node.add("log-cleaner", "part", self.figures)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        aside = self.states.set_aside
        return {
            "enabled": self.settings.enabled,
            "threads": len(self.cleaners),
            "dirtiest_ratio": self.dirtiest_ratio,
            "uncleanable": len(aside),
            "reasons": "; ".join(f"{log.partition}: {why}" for log, why in aside.items()) or None,
        }

    def uncleanable(self, directory: LogDirectory) -> tuple[int, int]:
        """Return the number of logs that are set aside in a directory, and their dirty bytes."""
        count = size = 0
        for log in self.states.set_aside:
            if directory.logs.get(log.partition) is log:
                count += 1
                first = directory.cleaned(log.partition) or 0
                dirty = (one for one in log.segments if one.sealed and one.base_offset >= first)
                size += sum(segment.size for segment in dirty)
        return count, size

    def configure(self, settings: CleanerSettings) -> None:
        """Use other settings from now on. Runs in progress begin again."""
        if settings != self.settings:
            self.settings = settings
            self._changed.set()

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Compact logs until cancelled; started at once."""
        task_status.started()
        while True:
            self._changed = trio.Event()
            threads = self.settings.threads if self.settings.enabled else 0
            self.cleaners = [Cleaner(number) for number in range(threads)]
            async with trio.open_nursery() as nursery:
                for cleaner in self.cleaners:
                    name = f"kafka-log-cleaner-thread-{cleaner.number}"
                    nursery.start_soon(self._run_cleaner, cleaner, name=name)
                await self._changed.wait()
                nursery.cancel_scope.cancel()

    async def _run_cleaner(self, cleaner: Cleaner) -> None:
        """Compact one log after the other. A failure ends this task, and is counted."""
        with self._node.child(f"cleaner-{cleaner.number}", "task", cleaner.figures):
            try:
                while True:
                    found = await self._clean_dirtiest(cleaner)
                    await self.apply_all_retention()
                    self.states.forget_closed()
                    if not found:
                        await trio.sleep(self._pause_s(cleaner))
            except InvariantError:
                raise
            except Exception:
                cleaner.failed = True
                _logger.exception("cleaner stopped", cleaner=cleaner.number)

    def _pause_s(self, cleaner: Cleaner) -> float:
        """Return the pause of a cleaner that found nothing to do: longer while nothing changes."""
        seen = self._state()
        cleaner.idle = min(cleaner.idle + 1, _MOST_DOUBLINGS) if seen == cleaner.seen else 0
        cleaner.seen = seen
        backoff_s = self.settings.backoff_ms / 1000
        return min(backoff_s * float(1 << cleaner.idle), max(backoff_s, _LONGEST_PAUSE_S))

    def _state(self) -> tuple[int, ...]:
        """Return what a change of any compacted log changes."""
        count = end = start = committed = configs = 0
        for log in self._logs.logs:
            if log.config.compacts:
                count += 1
                end += log.end_offset
                start += log.start_offset
                committed += log.high_watermark
                configs += id(log.config)
        return count, end, start, committed, configs

    # Selection

    async def _clean_dirtiest(self, cleaner: Cleaner) -> bool:
        """Compact the dirtiest log that is due. False: none is, or its run has failed."""
        dirty = await self._find_dirtiest()
        cleaner.delay_ms = self._delay_ms
        if dirty is None:
            return False
        return await self._clean(cleaner, dirty) is not None

    async def _find_dirtiest(self) -> DirtyLog | None:
        """Find the dirtiest log that is due; None: none is."""
        await trio.lowlevel.checkpoint()
        self.last_looked = trio.current_time()
        most, delay_ms, chosen = 0.0, 0, None
        for log in self._logs.logs:
            if not log.config.compacts or not self.states.is_free(log):
                continue
            dirty = await self._guard(log, partial(self._examine, log))
            if dirty is None or not dirty.total_bytes:
                continue
            most, delay_ms = max(most, dirty.ratio), max(delay_ms, dirty.delay_ms)
            if dirty.due and (chosen is None or dirty.ratio > chosen.ratio):
                chosen = dirty
        self.dirtiest_ratio, self._delay_ms = most, delay_ms
        # Another task may have taken it while this one looked at others.
        return chosen if chosen is not None and self.states.is_free(chosen.log) else None

    async def _examine(self, log: Log, *, ignore_lag: bool = False) -> DirtyLog | None:
        directory = self._logs.directory_of(log.partition)
        if directory is None:
            await trio.lowlevel.checkpoint()
            return None
        cleaned = directory.cleaned(log.partition)
        dirty = await examine(log, cleaned, log.now_ms(), ignore_lag=ignore_lag)
        if dirty.reset:
            await directory.write_cleaned(log, dirty.first_dirty_offset)
        return dirty

    async def _guard(self, log: Log, call: Callable[[], Awaitable[T]]) -> T | None:
        """Await `call`; set the log aside if it fails. None: it failed."""
        try:
            return await call()
        except InvariantError:
            raise
        except LogDirError:
            return None  # its directory is offline
        except Exception as error:
            if log.closed or is_exhaustion(error):
                return None
            self.states.set_aside[log] = reason = f"{type(error).__name__}: {error}"
            partition = str(log.partition)
            _logger.exception(
                "partition set aside as uncleanable", partition=partition, reason=reason
            )
            return None

    # Work

    async def _clean(self, cleaner: Cleaner, dirty: DirtyLog) -> Cleaned | None:
        log = dirty.log
        directory = self._logs.directory_of(log.partition)
        if directory is None:
            await trio.lowlevel.checkpoint()
            return None
        cleaner.dirty, cleaner.since, cleaner.progress = dirty, trio.current_time(), Progress()
        settings, progress = self.settings, cleaner.progress
        cleaned: Cleaned | None = None
        try:
            with self.states.running(log):
                cleaned = await self._guard(
                    log, lambda: clean_log(dirty, directory, settings, progress)
                )
        finally:
            cleaner.took_s, cleaner.dirty = trio.current_time() - cleaner.since, None
        if cleaned is not None:
            cleaner.runs += 1
            cleaner.stats = stats = cleaned.stats
            self.moved_bytes += stats.map_bytes_read + stats.bytes_read + stats.bytes_written
            _tell(dirty, cleaned, cleaner.took_s)
        return cleaned

    async def apply_all_retention(self) -> None:
        """Remove segments of compacted logs: by retention, and below their start offsets."""
        await trio.lowlevel.checkpoint()
        for log in self._logs.logs:
            if log.config.compacts and self.states.is_free(log):
                await self.apply_retention(log)

    async def apply_retention(self, log: Log) -> None:
        """Remove the segments of a compacted log that retention no longer keeps."""
        directory = self._logs.directory_of(log.partition)
        if directory is None or log.writer.claim:
            await trio.lowlevel.checkpoint()
            return
        write = directory.write_start_offsets
        with log.writer.claimed("retention"):
            await self._guard(log, lambda: retain(log, log.now_ms(), write))

    async def clean_now(self, log: Log) -> Cleaned | None:
        """Roll a log and compact all that is committed, as if it had never been compacted.

        For tests. None: nothing was compacted; if the log is set aside, `states` has the reason.
        """
        await trio.lowlevel.checkpoint()
        await self.states.cancel(log.partition)
        if not self.states.is_free(log):
            return None
        async with log.writer.turn("roll"):
            roll(log)
        dirty = await self._guard(log, lambda: self._examine(log, ignore_lag=True))
        if dirty is None or not dirty.total_bytes or not self.states.is_free(log):
            return None
        return await self._clean(Cleaner(-1), evolve(dirty, first_dirty_offset=log.start_offset))


def _tell(dirty: DirtyLog, cleaned: Cleaned, took_s: float) -> None:
    """Log what a run has done."""
    stats, log = cleaned.stats, dirty.log
    _logger.info(
        "log compacted",
        partition=str(log.partition),
        dirty_from=dirty.first_dirty_offset,
        dirty_to=cleaned.end_offset,
        bytes_read=stats.bytes_read,
        bytes_written=stats.bytes_written,
        messages_read=stats.messages_read,
        messages_written=stats.messages_written,
        map_used_percent=round(100 * stats.map_utilization, 1),
        took_ms=round(took_s * 1000),
    )
    if stats.invalid_messages:
        _logger.warning(
            "records without a key removed",
            partition=str(log.partition),
            records=stats.invalid_messages,
        )
