"""Log of one partition: its segments, and the state that decides what may be read and appended.

Made by `recovery.open_log`. `writer` says which change may begin; any number of tasks may read
(`read`). An I/O error fails the log for good, as LogDirError.
"""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError, LogDirError
from trio_kafka.introspect.tree import Figures
from trio_kafka.log.config import MAX_LONG, LogConfig
from trio_kafka.log.disk_latency import DiskLatency
from trio_kafka.log.epochs import LeaderEpochs
from trio_kafka.log.errors import LogClosedError
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.segments import Segments
from trio_kafka.log.unsynced_files import UnsyncedFiles
from trio_kafka.log.writer import LogWriter
from trio_kafka.model import TopicId, TopicPartition
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World


@define(kw_only=True)
class LogState:
    """Content of a log when it is created or loaded; see `Log`."""

    segments: Segments
    end_offset: int
    start_offset: int
    recovery_point: int
    high_watermark: int = 0
    epochs: LeaderEpochs = field(factory=LeaderEpochs)
    producers: ProducerState = field(factory=ProducerState)


class Log:
    """State of a log. start_offset <= high_watermark <= end_offset; durable below recovery_point.

    flush_end: end of the last append that `flush.messages` wants durable, see `durable_end`.
    on_durable: called when a sync has moved `durable_end`.
    jitter_ms: subtracted from `segment.ms`. latency: of the directory.
    failed: the error that took the log offline.
    wants_sync: called when a segment was sealed or `flush.messages` is reached: run `sync` soon.
    on_change: called when there may be something to compact or to remove: a segment was sealed, the
        settings or the start offset have changed, `awaited_commit` is reached, the log was closed.
    awaited_commit: high watermark that calls `on_change` once, see `await_commit`.
    writer: the changes in progress.
    compacted_until: offset below which compaction may have left gaps, whatever the policy is now.
    lower_checkpoints: awaited with logs of one directory, before they are cut and before the first
        sync of new ones. Afterwards no checkpoint claims too much.
    """

    def __init__(
        self,
        world: World,
        directory: Directory,
        partition: TopicPartition,
        *,
        config: LogConfig,
        state: LogState,
        parent: Directory | None = None,
        latency: DiskLatency | None = None,
    ) -> None:
        """parent: directory in which the name of the log's directory is not durable yet."""
        self.world = world
        self.directory = directory
        self.partition = partition
        self.config = config
        self.topic_id: TopicId | None = None
        self.segments = state.segments
        self.epochs = state.epochs
        self.producers = state.producers
        self.unsynced = UnsyncedFiles(directory, parent)
        self.latency = latency or DiskLatency(world.clock.elapsed, world.clock.waits)
        self.start_offset = state.start_offset
        self.end_offset = state.end_offset
        self.recovery_point = self.flush_end = state.recovery_point
        self.failed: LogDirError | None = None
        self.wants_sync: Callable[[Log], None] = _ignore
        self.on_change: Callable[[Log], None] = _ignore
        self.awaited_commit = MAX_LONG
        self.on_failure: Callable[[LogDirError], None] = _ignore
        self.on_durable: Callable[[], None] = _ignore
        self.lower_checkpoints: Callable[..., Awaitable[None]] = _lower_none
        self.closed = False
        self.compacted_until = 0
        self.writer = LogWriter(str(partition))
        self.wall = world.clock.wall
        self.last_sync_ms = self.now_ms()
        self._high_watermark = self.start_offset
        self.high_watermark = state.high_watermark
        self.draw_jitter()

    # State

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.segments.size

    @property
    def high_watermark(self) -> int:
        """Committed end: batches below it are committed."""
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        if not self.start_offset <= offset <= self.end_offset:
            offset = min(max(offset, self.start_offset), self.end_offset)
        self._high_watermark = offset
        if offset >= self.awaited_commit:
            self._reach_commit()

    @property
    def durable_end(self) -> int:
        """Offset below which records may be acknowledged. Appends that must be durable first lie
        above.

        Source: flush.messages; Kafka's append returns after the flush that it makes due.
        """
        return self.end_offset if self.flush_end <= self.recovery_point else self.recovery_point

    def commit_own(self) -> None:
        """Commit all that may be acknowledged, for a partition without other replicas in sync."""
        recovery_point = self.recovery_point
        end = self.end_offset if self.flush_end <= recovery_point else recovery_point
        if end > self._high_watermark:
            self._high_watermark = end
            if end >= self.awaited_commit:
                self._reach_commit()

    def await_commit(self, offset: int) -> None:
        """Call `on_change` once when the high watermark reaches `offset`, above the current one."""
        self.awaited_commit = min(self.awaited_commit, offset)

    def _reach_commit(self) -> None:
        self.awaited_commit = MAX_LONG
        self.on_change(self)

    @property
    def last_stable_offset(self) -> int:
        """Offset below which no transaction is open, or the start of the log if that is higher.

        Records at the beginning of an open transaction may be deleted, by DeleteRecords and by
        retention. A reader that is sent below the start would be out of range at once, again and
        again. Source: Kafka's UnifiedLog.maybeIncrementFirstUnstableOffset.
        """
        stable, start = self.producers.last_stable_offset(self._high_watermark), self.start_offset
        return stable if stable > start else start  # noqa: FURB136 - `max` is a call in every Fetch

    @property
    def leader_epoch(self) -> int:
        """Leader epoch of the last batch; -1: none."""
        return self.epochs.latest

    def epoch_end_offset(self, epoch: int) -> tuple[int, int]:
        """Return (largest epoch <= `epoch`, where it ended) as OffsetForLeaderEpoch does; or (-1,
        -1).
        """
        return self.epochs.end_offset(epoch, self.end_offset)

    def figures(self) -> Figures:
        """Return figures for the tree."""
        return {
            "start": self.start_offset,
            "end": self.end_offset,
            "high_watermark": self._high_watermark,
            "recovery_point": self.recovery_point,
            "durable_end": self.durable_end,
            "segments": len(self.segments),
            "change": self.writer.change or self.writer.blocked_by,
            "claim": None if self.writer.claim is None else self.writer.claim.name,
            "bytes": self.size,
            "producers": len(self.producers),
            "slow": self.latency.slow,
            "failed": str(self.failed) if self.failed else None,
        }

    def now_ms(self) -> int:
        return int(self.wall() * 1000)

    # Changes

    @contextmanager
    def blocking_appends(self, change: str) -> Iterator[None]:
        """Change the end of the log in the block; no append, roll or cut may begin meanwhile.

        Raises KafkaError, LogDirError if the log is closed or has failed; InvariantError if another
        such change is in progress.
        """
        if self.failed or self.closed:
            self.refuse()
        with self.writer.blocking_appends(change):
            yield

    def configure(self, config: LogConfig) -> None:
        """Use other settings from now on. Long work of another `cleanup.policy` ends.

        Source: Kafka's LogManager.updateTopicConfig aborts the run of the cleaner.
        """
        if config == self.config:
            return
        if config.compacts != self.config.compacts:
            self.writer.revoke("cleanup.policy has changed")
        self.config = config
        self.on_change(self)

    def set_start_offset(self, offset: int) -> None:
        """Hide records below `offset` from readers. Retention removes whole segments later."""
        if offset > self._high_watermark:
            message = f"start offset {offset} above the high watermark {self._high_watermark}"
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
        if offset > self.start_offset:
            self.start_offset = offset
            self.epochs.truncate_from_start(offset)
            self.on_change(self)

    def draw_jitter(self) -> None:
        """Draw `jitter_ms` for the active segment."""
        most = min(self.config.segment_jitter_ms, self.config.segment_ms)
        self.jitter_ms = self.world.random.randrange(most) if most > 0 else 0

    def abandon(self) -> None:
        """Close the files without a sync, as after a failure or a deletion. Leases stay valid."""
        was_open, self.closed = not self.closed, True
        self.writer.close()
        for segment in self.segments:
            segment.close()
            segment.end()
        self.unsynced.close()
        if was_open:
            self.on_change(self)

    def fail(self, error: OSError) -> NoReturn:
        """Fail the log and its directory for good. Raises LogDirError."""
        if self.closed and self.failed is None:
            self.refuse()  # the files were closed: the log was deleted during a read or sync
        if self.failed is None:
            self.failed = LogDirError(self.directory.path, f"{type(error).__name__}: {error}")
            self.failed.__cause__ = error
            self.on_failure(self.failed)
        raise self.failed from error

    def refuse(self) -> NoReturn:
        """Raise the error of a log that has failed, is closed, or whose `writer` blocks appends."""
        if self.failed:
            raise LogDirError(self.failed.path, str(self.failed)) from self.failed
        if self.closed:
            raise LogClosedError(f"{self.partition} is closed")
        self.writer.check_unblocked()
        raise InvariantError(f"{self.partition}: refused, but the log is open and not busy")


def _ignore(*_: object) -> None:
    """Default of the hooks."""


async def _lower_none(*_: object, cut: int | None = None) -> None:  # noqa: ARG001 - default of a hook
    await trio.lowlevel.checkpoint()
