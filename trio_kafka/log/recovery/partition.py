"""From a partition's directory to its log: after a clean stop at once, after a crash by reading.

What lies below the recovery point is durable and trusted. The segments from there on are read: the
first one that is not whole is cut behind its last whole batch, and every later one is dropped, as
its name may have outlived the tail before it. What was read is synced before it counts: it may live
in the page cache only. Rebuilt leader epochs stay in memory, and the recovery point where it was,
until the log is synced: see `loading`.
"""

from collections.abc import Collection
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.errors import LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.batch_scan import BULK, walk
from trio_kafka.log.config import LogConfig
from trio_kafka.log.disk_latency import DiskLatency
from trio_kafka.log.epochs import LeaderEpochs
from trio_kafka.log.files.checkpoints import LEADER_EPOCHS, read_lines
from trio_kafka.log.files.descriptor_retry import names_in, sync_names
from trio_kafka.log.files.names import (
    INDEX,
    LOG,
    SEGMENT_FILES,
    TIME_INDEX,
    TRANSACTION_INDEX,
    offset_file,
    parse_offset_file,
)
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads, run_now
from trio_kafka.log.index.entries import CorruptIndexError
from trio_kafka.log.log import Log
from trio_kafka.log.producer_snapshots import drop_snapshots, drop_strays, load_producers
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.recovery.damage import Damage, Judge, looks_lost
from trio_kafka.log.recovery.verify import Checked, check_segment, find_whole_batch
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.log.unsynced_files import UnsyncedFiles
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import World

_LEFT_OVER: Final = (".deleted", ".cleaned", ".tmp", ".swap")
_SEARCHED: Final = 16 << 20  # bytes behind damage, where a log line alone depends on it
_SWAP: Final = ".log.swap"
_logger: Final = get_logger(__name__)


@define(kw_only=True)
class Known:
    """What the log directory knows of a partition when it is loaded.

    clean: the last life ended in order. cleaned_until: below it compaction may have left gaps.
    judge: asked before damage is cut, of a log in which no offset may be missing.
    """

    clean: bool = False
    recovery_point: int = 0
    start_offset: int = 0
    high_watermark: int = 0
    cleaned_until: int = 0
    judge: Judge | None = None


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
    """An empty log in an empty directory. Nothing is durable before its first `sync`. OSError."""
    now_ms = int(world.clock.wall() * 1000)
    segment = run_now(
        Segment.create(directory, start_offset, now_ms, files, reserve=config.reserve)
    )
    producers = ProducerState()
    producers.loads_at = start_offset
    return Log(
        world,
        directory,
        partition,
        config,
        segments=Segments([segment]),
        end_offset=start_offset,
        start_offset=start_offset,
        recovery_point=start_offset,
        epochs=LeaderEpochs(),
        producers=producers,
        unsynced=UnsyncedFiles(directory, parent),
        latency=latency or DiskLatency(world.clock.elapsed, world.clock.waits),
    )


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
    silent_since: int | None = None,
) -> Log:
    """The log in a directory, empty or not.

    What `known` says is true, or says less. silent_since: see `load_producers`. LogDirError.
    Sync the log if its epochs are dirty: only then may the recovery point be the log's end.
    """
    known = known or Known()
    loader = _Loader(
        world, directory, config, known, files or OpenFiles(), silent_since=silent_since
    )
    try:
        await loader.load()
    except BaseException as error:
        loader.abandon()
        if isinstance(error, OSError):
            raise LogDirError(directory.path, f"{partition}: {error}") from error
        raise
    log = Log(
        world,
        directory,
        partition,
        config,
        segments=loader.segments,
        end_offset=loader.end_offset,
        start_offset=loader.start_offset,
        recovery_point=loader.recovery_point,
        epochs=loader.epochs,
        producers=loader.producers,
        unsynced=UnsyncedFiles(directory, parent),
        latency=latency or DiskLatency(world.clock.elapsed, world.clock.waits),
    )
    log.high_watermark = loader.known.high_watermark
    return log


def _see_nothing(position: int, header: BatchHeader) -> None:
    """Epochs come from their file."""


class _Loader:
    """One load. `rebuilt`: segments that were read."""

    def __init__(
        self,
        world: World,
        directory: Directory,
        config: LogConfig,
        known: Known,
        files: OpenFiles,
        *,
        silent_since: int | None,
    ) -> None:
        self.directory = directory
        self.files = files
        self.config = config
        self.known = known
        self.silent_since = silent_since
        self.now_ms = int(world.clock.wall() * 1000)
        self.start_offset = known.start_offset
        self.end_offset = 0
        self.epochs_lost = False
        self.doubtful = 0  # a start offset that counts only if the log reaches it
        self.rebuilt: list[Segment] = []
        self.epochs = LeaderEpochs()
        self.producers = ProducerState()
        self.segments: Segments
        self._found: list[Segment] = []

    async def load(self) -> None:
        if not self.known.clean and not self.directory.exists(LEADER_EPOCHS):
            # Never synced: the checkpoints speak of another log that the partition had before.
            self.known = Known()
            self.start_offset = 0
        await self._finish_swaps()
        names = await names_in(self.directory)
        self._doubt_start(names)
        bases = await self._clear(names)
        await self._load_epochs()
        saved = self.epochs.rows
        await self._load_segments(bases)
        await self._settle_range()
        if self.end_offset < self.known.recovery_point:
            _logger.error(
                "log ends below its recovery point: records are missing",
                path=self.directory.path,
                end_offset=self.end_offset,
                recovery_point=self.known.recovery_point,
            )
        self.segments = Segments(self._found)
        self.epochs.truncate_from_start(self.start_offset)
        self.epochs.truncate_from_end(self.end_offset)
        self.epochs.dirty = self.epochs.rows != saved
        await drop_snapshots(self.directory, self.end_offset)
        await drop_strays(self.directory, {segment.base_offset for segment in self.segments})
        upto = self.rebuilt[0].base_offset if self.rebuilt else self.end_offset
        rebuilt = set(self.rebuilt)
        self.producers = await load_producers(
            self.directory,
            self.segments,
            upto,
            self.end_offset,
            rebuilt,
            silent_since=self.silent_since,
        )
        if not self.known.clean:
            self.producers.loads_at = None  # the snapshot may be in the page cache only
        await self._make_durable()

    def _doubt_start(self, names: Collection[str]) -> None:
        """Ignore a start offset that only its own checkpoint reports, until the end is known.

        The start never rises above the high watermark, whose checkpoint is written first. Behind
        the base of the last segment, a start above that high watermark is probably damage: it may
        delete no segment.
        """
        found = [parse_offset_file(name) for name in names]
        last = max((one[0] for one in found if one is not None and one[1] == LOG), default=None)
        if last is not None and self.start_offset > max(last, self.known.high_watermark):
            self.doubtful, self.start_offset = self.start_offset, 0

    def abandon(self) -> None:
        """Close the files of a load that has failed or was cancelled."""
        for segment in self._found:
            segment.close()

    @property
    def recovery_point(self) -> int:
        """The end of the log, unless the epochs of what was read are in memory only."""
        known = self.known
        if self.epochs.dirty and not known.clean:
            return min(known.recovery_point, self.end_offset)
        return self.end_offset

    async def _finish_swaps(self) -> None:
        """Let what the cleaner had finished take its place: what it replaces may be gone already.

        The replaced segments go first, durably: whoever dies in between finds the swap again.
        """
        for name in [one for one in await names_in(self.directory) if one.endswith(_SWAP)]:
            found = parse_offset_file(name.removesuffix(".swap"))
            if found is None:
                continue
            last = [found[0]]
            file = self.files.open(self.directory, name)

            def see(position: int, header: BatchHeader, last: list[int] = last) -> None:
                del position
                last[0] = header.last_offset

            try:
                whole = (
                    file.size and await run_in_threads(walk(file, 0, see, chunk=BULK)) == file.size
                )
            finally:
                file.close()
            if not whole and self.directory.exists(name.removesuffix(".swap")):
                # It was synced before it got this name. What it would replace is there: keep that.
                path = f"{self.directory.path}/{name}"
                _logger.warning("damaged swap file removed", path=path)
                continue  # by `_clear`
            for other in await names_in(self.directory):
                parsed = parse_offset_file(other)
                if parsed and parsed[1] in SEGMENT_FILES and found[0] <= parsed[0] <= last[0]:
                    await self.directory.unlink(other)
            await sync_names(self.directory)
            self.directory.rename(name, name.removesuffix(".swap"))
            await sync_names(self.directory)

    async def _clear(self, names: Collection[str]) -> list[int]:
        """Remove what was left half done and what lies below the start.

        The segments that remain.
        """
        for name in names:
            if name.endswith(_LEFT_OVER):
                await self.directory.unlink(name)
        found = [parse_offset_file(name) for name in names]
        bases = sorted(one[0] for one in found if one is not None and one[1] == LOG)
        while len(bases) > 1 and bases[1] <= self.start_offset:
            await self._drop(bases.pop(0))
        return bases

    async def _load_epochs(self) -> None:
        try:
            rows = await read_lines(self.directory, LEADER_EPOCHS, 2)
        except LogDirError as error:
            _logger.warning("malformed checkpoint rebuilt from the log", reason=str(error))
            rows = []
        # Also where the file is missing: a log with batches has at least one epoch.
        self.epochs_lost = not rows
        self.epochs = LeaderEpochs((int(epoch), int(start)) for epoch, start in rows)

    async def _load_segments(self, bases: list[int]) -> None:
        checked: Checked | None = None
        whole = True
        for number, base in enumerate(bases):
            last = number + 1 == len(bases)
            if not whole or (checked and not self._continues(base, checked.end_offset)):
                if whole and checked:
                    self._judge_hole(bases[number - 1], checked)
                whole = False
                _logger.warning("segment dropped", path=self.directory.path, base_offset=base)
                await self._drop(base)
                continue
            segment = Segment.open(self.directory, base, self.now_ms, self.files)
            self._found.append(segment)
            trusted = self.known.clean or (
                not last and bases[number + 1] <= self.known.recovery_point
            )
            if trusted and await self._trust(segment, last=last):
                if self.epochs_lost:
                    await run_in_threads(walk(segment.file, 0, self._assign, chunk=BULK))
                checked = None
                continue
            if checked is None:
                if not trusted:
                    self.epochs.truncate_from_end(base)
                gapless = self.known.judge is not None
                checked = Checked(base, self.epochs.epoch_at(base - 1), gapless=gapless)
            checked.end_offset = max(checked.end_offset, base)
            assign = not trusted or self.epochs_lost
            # What follows a trusted segment was synced: it stays, whatever is wrong with this one.
            keep = trusted and not last
            whole = await self._check(segment, checked, assign=assign, keep=keep, last=last)
            self.end_offset = checked.end_offset
            if trusted and whole:
                checked = None  # what follows is trusted too, behind a gap of the cleaner as well

    def _continues(self, base: int, end: int) -> bool:
        """May a segment begin with `base` after one that ends with `end`?"""
        return base == end or (end < base <= self.known.cleaned_until)

    async def _trust(self, segment: Segment, *, last: bool) -> bool:
        """Take a segment as it is; False: something is missing, it must be read."""
        for suffix in (INDEX, TIME_INDEX):
            name = offset_file(segment.base_offset, suffix)
            if not self.directory.exists(name):
                _logger.warning("missing index rebuilt", path=f"{self.directory.path}/{name}")
                return False
        if self.directory.exists(offset_file(segment.base_offset, TRANSACTION_INDEX)):
            try:
                await run_in_threads(segment.transactions.load())
            except CorruptIndexError as error:
                path = self.directory.path
                _logger.warning("transaction index rebuilt", path=path, reason=str(error))
                return False
        if not last:
            segment.close()
            return True
        await run_in_threads(segment.grow_again())
        self.end_offset = segment.base_offset
        sound = True

        def see(position: int, header: BatchHeader) -> None:
            nonlocal sound
            del position
            sound = sound and header.base_offset >= self.end_offset
            sound = sound and segment.reaches(header.last_offset)
            self.end_offset = header.next_offset

        begin = segment.offsets.last[1] if segment.offsets.last else 0
        return await run_in_threads(walk(segment.file, begin, see)) == segment.file.size and sound

    async def _check(
        self, segment: Segment, checked: Checked, *, assign: bool, keep: bool, last: bool
    ) -> bool:
        """Read a segment and cut it behind its last whole batch; False: it had to be cut.

        assign: the epochs of its batches are not known from the file. keep: damage is passed over,
        and nothing is cut.
        """
        see = self._assign if assign else _see_nothing
        interval = self.config.index_interval_bytes
        end = await check_segment(segment, checked, interval, see)
        self.rebuilt.append(segment)
        file = segment.file
        while end < file.size:
            most = None if keep or self.known.judge else _SEARCHED
            after = await find_whole_batch(file, end, checked, most)
            if self.known.judge:
                damage = Damage(
                    path=f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}",
                    position=end,
                    offset=checked.end_offset,
                    whole_at=after,
                    lost=await looks_lost(file, end, file.size if after is None else after),
                    later=not last,
                )
                self.known.judge(damage)
            self._tell_damage(segment, end, after, kept=keep)
            if not keep:
                segment.hold()
                segment.truncate(end)
                return False
            if after is None:
                break
            end = await check_segment(segment, checked, interval, see, after)
        return True

    def _judge_hole(self, base: int, checked: Checked) -> None:
        """Ask about later segments that do not continue the one that begins with `base`."""
        if self.known.judge:
            damage = Damage(
                path=f"{self.directory.path}/{offset_file(base, LOG)}",
                position=self._found[-1].file.size,
                offset=checked.end_offset,
                whole_at=None,
                lost=True,
                later=True,
            )
            self.known.judge(damage)

    def _tell_damage(
        self, segment: Segment, position: int, after: int | None, *, kept: bool
    ) -> None:
        """Log bytes that are no batch: with whole batches behind them they are no torn tail."""
        path = f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}"
        left = segment.file.size - position
        if kept:
            _logger.error("damaged batch kept", path=path, position=position, whole_again_at=after)
        elif after is None:
            _logger.warning("torn tail cut", path=path, position=position, bytes=left)
        else:
            _logger.error(
                "damaged batch cut with whole batches behind it",
                path=path,
                position=position,
                bytes=left,
                whole_again_at=after,
            )

    def _assign(self, position: int, header: BatchHeader) -> None:
        del position
        self.epochs.assign(header.leader_epoch, header.base_offset)

    async def _settle_range(self) -> None:
        """A log that ends before its start begins anew at its start; a new one has one segment."""
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
                await self._drop(segment.base_offset)
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

    async def _make_durable(self) -> None:
        """What was read may be in the page cache only, and names may have gone."""
        active = self.segments.active
        active.hold()
        active.sealed = False
        for segment in self.rebuilt:
            if segment is not active:
                run_now(segment.write_indexes())
                segment.seal()
            await segment.sync()
        await sync_names(self.directory)
        if active not in self.rebuilt and self.known.clean:
            active.trust()
        for segment in self.rebuilt:
            if segment is not active:
                segment.close()

    async def _drop(self, base: int) -> None:
        for suffix in SEGMENT_FILES:
            name = offset_file(base, suffix)
            if self.directory.exists(name):
                await self.directory.unlink(name)
