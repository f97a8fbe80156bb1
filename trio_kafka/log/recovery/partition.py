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
from trio_kafka.log.files.names import LOG, parse_offset_file
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
from trio_kafka.log.recovery.segment_loader import Known, SegmentLoader
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
    config: LogConfig,
    *,
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
        Segment.create(directory, start_offset, now_ms, files, reserve=config.reserve)
    )
    state = LogState(
        segments=Segments([segment]),
        end_offset=start_offset,
        start_offset=start_offset,
        recovery_point=start_offset,
    )
    state.producers.loads_at = start_offset
    return Log(world, directory, partition, config, state, parent=parent, latency=latency)


async def open_log(
    world: World,
    directory: Directory,
    partition: TopicPartition,
    config: LogConfig,
    *,
    known: Known | None = None,
    parent: Directory | None = None,
    latency: DiskLatency | None = None,
    files: OpenFiles | None = None,
) -> Log:
    """Load the log in a directory, which may be empty.

    known: must not claim more than is true. LogDirError.
    Sync the log if its epochs are dirty: only then may the recovery point be its end.
    """
    now_ms = int(world.clock.wall() * 1000)
    loader = _Loader(world, directory, config, known or Known(), files or OpenFiles(), now_ms)
    try:
        state = await loader.load()
    except BaseException as error:
        loader.abandon()
        if isinstance(error, OSError):
            raise LogDirError(directory.path, f"{partition}: {error}") from error
        raise
    return Log(world, directory, partition, config, state, parent=parent, latency=latency)


@define(eq=False)
class _Loader:
    """One load.

    doubtful: start offset that counts only if the log reaches it. rebuilt: segments that were read.
    """

    world: World
    directory: Directory
    config: LogConfig
    known: Known
    files: OpenFiles
    now_ms: int
    start_offset: int = field(init=False)
    end_offset: int = field(default=0, init=False)
    doubtful: int = field(default=0, init=False)
    epochs: LeaderEpochs = field(factory=LeaderEpochs, init=False)
    rebuilt: list[Segment] = field(factory=list, init=False)
    _found: list[Segment] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        self.start_offset = self.known.start_offset

    async def load(self) -> LogState:
        silent_since, names = self.known.silent_since, self.known.names
        was_synced = True
        if not self.known.clean and not self.directory.exists(LEADER_EPOCHS):
            # Never synced: the checkpoints describe an earlier log of the partition.
            before = self.known
            self.known = Known(progress=before.progress, worker_bytes=before.worker_bytes)
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
            self.world,
            self.directory,
            self.config,
            self.known,
            self.files,
            self.epochs,
            epochs_lost=epochs_lost,
            now_ms=self.now_ms,
        )
        self._found, self.rebuilt = loader.found, loader.rebuilt
        await loader.load(bases)
        self.end_offset = loader.end_offset
        await self._settle_range()
        if self.end_offset < self.known.recovery_point:
            _logger.error(
                "log ends below its recovery point: records are missing",
                path=self.directory.path,
                end_offset=self.end_offset,
                recovery_point=self.known.recovery_point,
            )
        segments = Segments(self._found)
        self.epochs.truncate_from_start(self.start_offset)
        self.epochs.truncate_from_end(self.end_offset)
        self.epochs.dirty = self.epochs.rows != saved
        found = snapshots_among(names)  # a segment that was dropped leaves its snapshot
        found = await drop_snapshots(self.directory, self.end_offset, found)
        bases_left = {segment.base_offset for segment in segments}
        found = await drop_strays(self.directory, bases_left, found)
        producers = await load_producers(
            self.directory,
            segments,
            self.rebuilt[0].base_offset if self.rebuilt else self.end_offset,
            self.end_offset,
            set(self.rebuilt),
            found=found,
            without=loader.plain,
            silent_since=silent_since,
        )
        if not self.known.clean:
            producers.loads_at = None  # the snapshot may be in the page cache only
        await self._make_durable(segments.active)
        return LogState(
            segments=segments,
            end_offset=self.end_offset,
            start_offset=self.start_offset,
            recovery_point=self._recovery_point,
            high_watermark=self.known.high_watermark,
            epochs=self.epochs,
            producers=producers,
        )

    def _doubt_start(self, names: Collection[str]) -> None:
        """Ignore a start offset that only its own checkpoint reports, until the end is known.

        The start never rises above the high watermark, whose checkpoint is written first. Beyond
        the base of the last segment, a start above that high watermark is probably damage, and must
        not delete a segment.
        """
        found = [parse_offset_file(name) for name in names]
        last = max((one[0] for one in found if one is not None and one[1] == LOG), default=None)
        if last is not None and self.start_offset > max(last, self.known.high_watermark):
            self.doubtful, self.start_offset = self.start_offset, 0

    def abandon(self) -> None:
        """Close the files of a load that failed or was cancelled."""
        for segment in self._found:
            segment.close()

    @property
    def _recovery_point(self) -> int:
        """End of the log, unless rebuilt epochs are in memory only."""
        known = self.known
        if self.epochs.dirty and not known.clean:
            return min(known.recovery_point, self.end_offset)
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
        """Restart a log that ends before its start offset. Create the segment of a new one."""
        first = self._found[0].base_offset if self._found else 0
        if self._found and self.doubtful > self.end_offset:
            _logger.warning(
                "start offset above the log's end ignored",
                path=self.directory.path,
                found=self.doubtful,
                end_offset=self.end_offset,
                now=first,
            )
        else:
            self.start_offset = max(self.start_offset, self.doubtful)
        if self._found and self.end_offset < self.start_offset:
            for segment in self._found:
                segment.close()
                await unlink_segment(self.directory, segment.base_offset)
            self._found.clear()
            self.rebuilt.clear()
        if not self._found:
            segment = run_now(
                Segment.create(
                    self.directory,
                    self.start_offset,
                    self.now_ms,
                    self.files,
                    reserve=self.config.reserve,
                )
            )
            self._found.append(segment)
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
        if self.rebuilt or not self.known.clean:
            await sync_names(self.directory)
        if active not in self.rebuilt and self.known.clean:
            active.trust()
        for segment in self.rebuilt:
            if segment is not active:
                segment.close()
