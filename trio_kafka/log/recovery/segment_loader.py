"""Load of the segments of a partition: each is trusted, read, cut or dropped."""

from collections.abc import Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.config import LogConfig
from trio_kafka.log.epochs import LeaderEpochs
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX, offset_file
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import run_in_threads
from trio_kafka.log.index.entries import CorruptIndexError
from trio_kafka.log.recovery.check_job import check_in_job
from trio_kafka.log.recovery.damage import Damage, Judge, looks_lost
from trio_kafka.log.recovery.progress import LogProgress
from trio_kafka.log.recovery.verify import CheckProgress, check_segment, find_whole_batch
from trio_kafka.log.scan.walk import BULK, walk
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch
from trio_kafka.log.segment import Segment
from trio_kafka.log.segment_file import unlink_segment
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import Directory
from trio_kafka.world.world import WorkerLostError, World

_SEARCHED: Final = 16 << 20  # bytes searched after damage, only for its log event
_GAPS_LOGGED: Final = 20  # of a segment, each with its position
_logger: Final = get_logger(__name__)


@define(kw_only=True)
class Recovery:
    """Facts of a log before it is loaded, and how it is checked.

    clean: the broker stopped cleanly. cleaned_until: below it compaction may have left gaps. These
        and the other offsets are from the checkpoints of the log directory.
    names: those in the directory, as they are now; taken by the first load. None: they are listed.
    judge: called before damage is cut, for a log in which no offset may be missing.
    silent_since: see `load_producers`.
    progress: of the load. worker_bytes: a segment with at least so many bytes to check is checked
        in a worker process; None: none is.
    names: those in the directory of the partition, as they are now; None: they are listed.
    """

    clean: bool = False
    recovery_point: int = 0
    start_offset: int = 0
    high_watermark: int = 0
    cleaned_until: int = 0
    silent_since: int | None = None
    judge: Judge | None = None
    progress: LogProgress = field(factory=LogProgress, eq=False)
    worker_bytes: int | None = None
    names: Sequence[str] | None = field(default=None, eq=False)


def _see_nothing(position: int, header: BatchHeader) -> None:
    """Ignore a batch: epochs come from their file."""


@define(eq=False, kw_only=True)
class SegmentLoader:
    """One load of the segments of a partition.

    segments: of the log. rebuilt: those of them that were read, those without a batch of
        a producer in `plain` too. end_offset: of the log.
    epochs: updated. epochs_lost: they are rebuilt from the batches.
    """

    world: World
    directory: Directory
    config: LogConfig
    recovery: Recovery
    files: OpenFiles
    epochs: LeaderEpochs
    epochs_lost: bool = field(kw_only=True)
    now_ms: int = field(kw_only=True)
    end_offset: int = field(default=0, init=False)
    segments: list[Segment] = field(factory=list, init=False)
    rebuilt: list[Segment] = field(factory=list, init=False)
    plain: set[Segment] = field(factory=set, init=False)

    async def load(self, bases: list[int]) -> None:
        """Load the segments with these base offsets. OSError."""
        self.recovery.progress.segments = len(bases)
        checked: CheckProgress | None = None
        whole = True
        for number, base in enumerate(bases):
            last = number + 1 == len(bases)
            self.recovery.progress.checked = number
            if not whole or (checked and not self._continues(base, checked.end_offset)):
                if whole and checked:
                    self._judge_hole(bases[number - 1], checked)
                whole = False
                _logger.warning("segment dropped", path=self.directory.path, base_offset=base)
                await unlink_segment(self.directory, base)
                continue
            segment = Segment.open(self.directory, base, self.now_ms, files=self.files)
            self.segments.append(segment)
            trusted = self.recovery.clean or (
                not last and bases[number + 1] <= self.recovery.recovery_point
            )
            if trusted and await self._trust(segment, last=last):
                if self.epochs_lost:
                    await run_in_threads(walk(segment.file, 0, self._assign, chunk=BULK))
                checked = None
                continue
            if checked is None:
                if not trusted:
                    self.epochs.truncate_from_end(base)
                gapless = self.recovery.judge is not None
                checked = CheckProgress(base, self.epochs.epoch_at(base - 1), gapless=gapless)
            checked.end_offset = max(checked.end_offset, base)
            assign = not trusted or self.epochs_lost
            # Segments after a trusted one were synced: they stay, whatever is wrong with this one.
            keep = trusted and not last
            whole = await self._check(segment, checked, assign=assign, keep=keep, last=last)
            self.end_offset = checked.end_offset
            if trusted and whole:
                checked = None  # later segments are trusted too, even after a gap of the cleaner

    def _continues(self, base: int, end: int) -> bool:
        """Return whether a segment may begin with `base` after one that ends with `end`."""
        return base == end or (end < base <= self.recovery.cleaned_until)

    async def _trust(self, segment: Segment, *, last: bool) -> bool:
        """Use a segment without reading it. False: something is missing, so it must be read."""
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
        self, segment: Segment, checked: CheckProgress, *, assign: bool, keep: bool, last: bool
    ) -> bool:
        """Read a segment and cut it after its last whole batch. False: it was cut.

        assign: take the epochs from its batches. keep: pass over damage, and cut nothing.
        """
        see = self._assign if assign else _see_nothing
        interval = self.config.index_interval_bytes
        checked.producers = False
        end = await self._check_in_process(segment, checked, assign=assign)
        if end is None:
            end = await check_segment(segment, checked, interval, see=see)
        self.recovery.progress.bytes_checked += end
        self.rebuilt.append(segment)
        file = segment.file
        search = WholeBatchSearch(file.size)
        gaps = 0
        while end < file.size:
            most = None if keep or self.recovery.judge else _SEARCHED
            after = await find_whole_batch(file, end, checked, search=search, most=most)
            if self.recovery.judge:
                damage = Damage(
                    path=f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}",
                    position=end,
                    offset=checked.end_offset,
                    whole_at=after,
                    lost=await looks_lost(file, end, file.size if after is None else after),
                    later=not last,
                )
                self.recovery.judge(damage)
            gaps += 1
            if gaps <= _GAPS_LOGGED:
                self._tell_damage(segment, end, after, kept=keep)
            if not keep:
                segment.hold()
                segment.truncate(end)
                return False
            if after is None:
                break
            end = await check_segment(segment, checked, interval, see=see, position=after)
        if gaps > _GAPS_LOGGED:
            path = f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}"
            _logger.error("more damaged batches kept", path=path, count=gaps - _GAPS_LOGGED)
        if not checked.producers:
            self.plain.add(segment)
        return True

    async def _check_in_process(
        self, segment: Segment, checked: CheckProgress, *, assign: bool
    ) -> int | None:
        """Check a large segment in a worker process, as `check_segment` does.

        None: it is small, or the worker was killed.
        """
        least = self.recovery.worker_bytes
        if least is None or segment.file.size < least:
            return None
        progress = self.recovery.progress
        progress.worker = True
        try:
            result = await self.world.run_in_process(
                check_in_job,
                self.directory.path,
                segment.base_offset,
                checked,
                self.config.index_interval_bytes,
            )
        except WorkerLostError as error:
            path = f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}"
            _logger.warning("segment checked again", path=path, reason=str(error))
            return None
        finally:
            progress.worker = False
        segment.take(result.summary)
        checked.take(result.checked)
        for epoch, start in result.epochs if assign else ():
            self.epochs.assign(epoch, start)
        return result.end

    def _judge_hole(self, base: int, checked: CheckProgress) -> None:
        """Ask `judge` about segments that do not continue the one that begins with `base`."""
        if self.recovery.judge:
            damage = Damage(
                path=f"{self.directory.path}/{offset_file(base, LOG)}",
                position=self.segments[-1].file.size,
                offset=checked.end_offset,
                whole_at=None,
                lost=True,
                later=True,
            )
            self.recovery.judge(damage)

    def _tell_damage(
        self, segment: Segment, position: int, after: int | None, *, kept: bool
    ) -> None:
        """Log invalid bytes. With whole batches after them they are not a torn tail."""
        path = f"{self.directory.path}/{offset_file(segment.base_offset, LOG)}"
        remaining = segment.file.size - position
        if kept:
            _logger.error("damaged batch kept", path=path, position=position, whole_again_at=after)
        elif after is None:
            _logger.warning("torn tail cut", path=path, position=position, bytes=remaining)
        else:
            _logger.error(
                "damaged batch cut with whole batches behind it",
                path=path,
                position=position,
                bytes=remaining,
                whole_again_at=after,
            )

    def _assign(self, position: int, header: BatchHeader) -> None:
        del position
        self.epochs.assign(header.leader_epoch, header.base_offset)
