"""Load of a partition's log from its directory, after a clean stop or a crash.

Everything below the recovery point is durable and trusted. The segments from there on are read. The
first damaged one is cut after its last whole batch, and every later one is dropped, as its name may
have become durable before the tail in front of it. Segments that were read are synced, as they may
be in the page cache only. Rebuilt leader epochs stay in memory, and the recovery point stays
unchanged, until the log is synced (`loading`).
"""

from collections.abc import Collection
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.log.disk_latency import DiskLatency
from trio_kafka.log.epochs import LeaderEpochs
from trio_kafka.log.files.checkpoints import LEADER_EPOCHS, read_lines
from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.files.names import LOG, offsets_of
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_now
from trio_kafka.log.log import Log, LogState
from trio_kafka.log.producer_snapshots import (
    drop_snapshots,
    drop_strays,
    load_producers,
    snapshots_among,
)
from trio_kafka.log.recovery.leftovers import clear_leftovers, finish_swaps
from trio_kafka.log.recovery.segment_loader import Recovery, SegmentLoader
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import unlink_segment
from trio_kafka.log.segments import Segments
from trio_kafka.model import TopicPartition
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_logger: Final = get_logger(__name__)


def create_log(
    world: World,
    directory: Directory,
    partition: TopicPartition,
    *,
    config: LogConfig,
    parent: Directory | None = None,
    start_offset: int = 0,
    latency: DiskLatency | None = None,
    files: OpenFiles | None = None,
) -> Log:
    """Create an empty log in an empty directory. It is not durable before its first `sync`.
    OSError.
    """
    now_ms = int(world.clock.wall() * 1000)
    segment = run_now(
        Segment.create(directory, start_offset, now_ms, files=files, reserve=config.reserve)
    )
    state = LogState(
        segments=Segments([segment]),
        end_offset=start_offset,
        start_offset=start_offset,
        recovery_point=start_offset,
    )
    state.producers.loads_at = start_offset
    return Log(
        world, directory, partition, config=config, state=state, parent=parent, latency=latency
    )


async def open_log(
    world: World,
    directory: Directory,
    partition: TopicPartition,
    *,
    config: LogConfig,
    recovery: Recovery | None = None,
    parent: Directory | None = None,
    latency: DiskLatency | None = None,
    files: OpenFiles | None = None,
) -> Log:
    """Load the log in a directory, which may be empty.

    recovery: must not claim more than is true. Sync the log if its epochs are dirty: only then may
        the recovery point be its end.
    Raises LogDirError.
    """
    now_ms = int(world.clock.wall() * 1000)
    loader = _Loader(
        world=world,
        directory=directory,
        config=config,
        recovery=recovery or Recovery(),
        files=files or OpenFiles(),
        now_ms=now_ms,
    )
    try:
        state = await loader.load()
    except BaseException as error:
        loader.abandon()
        if isinstance(error, OSError):
            raise LogDirError(directory.path, f"{partition}: {error}") from error
        raise
    return Log(
        world, directory, partition, config=config, state=state, parent=parent, latency=latency
    )


@define(eq=False, kw_only=True)
class _Loader:
    """One load.

    doubtful: start offset that counts only if the log reaches it. rebuilt: segments that were read.
    """

    world: World
    directory: Directory
    config: LogConfig
    recovery: Recovery
    files: OpenFiles
    now_ms: int
    start_offset: int = field(init=False)
    end_offset: int = field(default=0, init=False)
    doubtful: int = field(default=0, init=False)
    epochs: LeaderEpochs = field(factory=LeaderEpochs, init=False)
    rebuilt: list[Segment] = field(factory=list, init=False)
    _segments: list[Segment] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.start_offset = self.recovery.start_offset

    async def load(self) -> LogState:
        names, self.recovery.names = self.recovery.names, None
        silent_since = self.recovery.silent_since
        was_synced = True
        if not self.recovery.clean and not self.directory.exists(LEADER_EPOCHS):
            # Never synced: the checkpoints describe an earlier log of the partition.
            before = self.recovery
            self.recovery = Recovery(progress=before.progress, worker_bytes=before.worker_bytes)
            self.start_offset = 0
            was_synced = False
        if names is None:
            names = await names_in(self.directory)
        if any(name.endswith(".swap") for name in names):
            await finish_swaps(self.directory, self.files)
            names = await names_in(self.directory)
        if not was_synced and snapshots_among(names):
            # Its first segment may be lost and a later snapshot not: the retry of a lost batch
            # would be taken for a duplicate, and acknowledged.
            await drop_snapshots(self.directory, -1)
            names = await names_in(self.directory)
        self._doubt_start(names)
        bases = await clear_leftovers(self.directory, names, self.start_offset)
        epochs_lost = await self._load_epochs()
        saved = self.epochs.rows
        loader = SegmentLoader(
            world=self.world,
            directory=self.directory,
            config=self.config,
            recovery=self.recovery,
            files=self.files,
            epochs=self.epochs,
            epochs_lost=epochs_lost,
            now_ms=self.now_ms,
        )
        self._segments, self.rebuilt = loader.segments, loader.rebuilt
        await loader.load(bases)
        self.end_offset = loader.end_offset
        await self._settle_range()
        if self.end_offset < self.recovery.recovery_point:
            _logger.error(
                "log ends below its recovery point: records are missing",
                path=self.directory.path,
                end_offset=self.end_offset,
                recovery_point=self.recovery.recovery_point,
            )
        segments = Segments(self._segments)
        self.epochs.truncate_from_start(self.start_offset)
        self.epochs.truncate_from_end(self.end_offset)
        self.epochs.dirty = self.epochs.rows != saved
        snapshots = snapshots_among(names)  # a segment that was dropped leaves its snapshot
        snapshots = await drop_snapshots(self.directory, self.end_offset, snapshots)
        bases_left = {segment.base_offset for segment in segments}
        snapshots = await drop_strays(self.directory, bases_left, snapshots)
        producers = await load_producers(
            self.directory,
            segments,
            self.rebuilt[0].base_offset if self.rebuilt else self.end_offset,
            end_offset=self.end_offset,
            rebuilt=set(self.rebuilt),
            offsets=snapshots,
            without=loader.plain,
            silent_since=silent_since,
        )
        if not self.recovery.clean:
            producers.loads_at = None  # the snapshot may be in the page cache only
        await self._make_durable(segments.active)
        return LogState(
            segments=segments,
            end_offset=self.end_offset,
            start_offset=self.start_offset,
            recovery_point=self._recovery_point,
            high_watermark=self.recovery.high_watermark,
            epochs=self.epochs,
            producers=producers,
        )

    def _doubt_start(self, names: Collection[str]) -> None:
        """Ignore a start offset that only its own checkpoint reports, until the end is known.

        The start never rises above the high watermark, whose checkpoint is written first. Beyond
        the base of the last segment, a start above that high watermark is probably damage, and must
        not delete a segment.
        """
        last = max(offsets_of(names, LOG), default=None)
        if last is not None and self.start_offset > max(last, self.recovery.high_watermark):
            self.doubtful, self.start_offset = self.start_offset, 0

    def abandon(self) -> None:
        """Close the files of a load that failed or was cancelled."""
        for segment in self._segments:
            segment.close()

    @property
    def _recovery_point(self) -> int:
        """End of the log, unless rebuilt epochs are in memory only."""
        recovery = self.recovery
        if self.epochs.dirty and not recovery.clean:
            return min(recovery.recovery_point, self.end_offset)
        return self.end_offset

    async def _load_epochs(self) -> bool:
        """Load the leader epochs. True: there are none, so they are rebuilt from the batches."""
        try:
            rows = await read_lines(self.directory, LEADER_EPOCHS, 2)
        except LogDirError as error:
            _logger.warning("malformed checkpoint rebuilt from the log", reason=str(error))
            rows = []
        # A missing file too: a log with batches has at least one epoch.
        self.epochs = LeaderEpochs((int(epoch), int(start)) for epoch, start in rows)
        return not rows

    async def _settle_range(self) -> None:
        """Make the start offset and the segments agree.

        Segments that end before the start offset are removed. A log without a segment gets an empty
        one, which begins at the start offset.
        """
        first = self._segments[0].base_offset if self._segments else 0
        if self._segments and self.doubtful > self.end_offset:
            _logger.warning(
                "start offset above the log's end ignored",
                path=self.directory.path,
                found=self.doubtful,
                end_offset=self.end_offset,
                now=first,
            )
        else:
            self.start_offset = max(self.start_offset, self.doubtful)
        if self._segments and self.end_offset < self.start_offset:
            for segment in self._segments:
                segment.close()
                await unlink_segment(self.directory, segment.base_offset)
            self._segments.clear()
            self.rebuilt.clear()
        if not self._segments:
            segment = run_now(
                Segment.create(
                    self.directory,
                    self.start_offset,
                    self.now_ms,
                    files=self.files,
                    reserve=self.config.reserve,
                )
            )
            self._segments.append(segment)
            self.rebuilt.append(segment)
            first = self.end_offset = self.start_offset
        self.start_offset = max(self.start_offset, first)

    async def _make_durable(self, active: Segment) -> None:
        """Sync the segments that were read, and the names, which a clean stop has synced."""
        active.hold()
        active.sealed = False
        for segment in self.rebuilt:
            if segment is not active:
                run_now(segment.write_indexes())
                segment.seal()
            await segment.sync()
        if self.rebuilt or not self.recovery.clean:
            await sync_names(self.directory)
        if active not in self.rebuilt and self.recovery.clean:
            active.trust()
        for segment in self.rebuilt:
            if segment is not active:
                segment.close()
