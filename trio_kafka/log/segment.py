"""One segment: a file of batches, its indexes, and the state of its end.

The active segment grows; sealed ones do not. Positions of the last batches are kept in memory, so
that reads at the end of the log need no index.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, InvariantError, KafkaError
from trio_kafka.log.batch_lookup import CutBatchError, Spot, find_batch
from trio_kafka.log.config import LogConfig
from trio_kafka.log.files.names import INDEX, INDEX_FILES, LOG, TIME_INDEX, offset_file
from trio_kafka.log.files.open_files import OpenFiles
from trio_kafka.log.files.operations import FileWork, ReadBytes
from trio_kafka.log.index.entries import CorruptIndexError, EntryFile
from trio_kafka.log.index.offset import ENTRY as OFFSET_ENTRY
from trio_kafka.log.index.offset import OffsetIndex
from trio_kafka.log.index.segment_sidecar import WrittenFile
from trio_kafka.log.index.time import ENTRY as TIME_ENTRY
from trio_kafka.log.index.time import NO_TIMESTAMP, TimeIndex
from trio_kafka.log.index.transaction import TransactionIndex
from trio_kafka.log.scan.walk import BULK, walk
from trio_kafka.log.segment_file import SegmentFile
from trio_kafka.records.header import LENGTH_END, BatchHeader
from trio_kafka.world.protocols import Buffer, Directory

LAST_RELATIVE: Final = (1 << 31) - 1
YOUNGEST_MS: Final = 100  # a younger segment is not rolled for its age
_RECENT: Final = 128
_ALL_READABLE: Final[Mapping[int, str]] = {}
_REBUILT_INTERVAL: Final = 4096  # bytes between two entries, the default of index.interval.bytes


@frozen(kw_only=True)
class Summary:
    """Indexes and state of the end of a segment, as plain data. Offsets and times are entries."""

    offsets: bytes
    times: bytes
    max_timestamp: int
    max_timestamp_offset: int
    rolling_timestamp: int | None
    since_index: int
    recent: tuple[tuple[int, int, int], ...]


@define(eq=False)
class Segment(SegmentFile):
    """Segment that begins with `base_offset`.

    max_timestamp, max_timestamp_offset: the largest timestamp and the last offset of its batch; for
        a sealed segment after `load_timestamps`.
    rolling_timestamp: timestamp of the first append, None while empty.
    created_ms: when this process first saw the segment.
    unreadable: reasons of batches whose records a cleaning run could not read, by base offset.
    """

    created_ms: int = field(default=0, kw_only=True)
    offsets: OffsetIndex = field(init=False)
    times: TimeIndex = field(init=False)
    transactions: TransactionIndex = field(init=False)
    max_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    max_timestamp_offset: int = field(init=False)
    timestamps_known: bool = field(init=False)
    rolling_timestamp: int | None = field(default=None, init=False)
    unreadable: Mapping[int, str] = field(default=_ALL_READABLE, init=False)
    _since_index: int = field(default=0, init=False)
    _index_rebuilt: bool = field(default=False, init=False)
    # Last offset, base offset and position of the last batches.
    _recent: list[tuple[int, int, int]] = field(factory=list, init=False)

    def __attrs_post_init__(self) -> None:
        super().__attrs_post_init__()
        directory, base_offset = self.directory, self.base_offset
        index = partial(EntryFile, directory, sealed=self.sealed, files=self.files)
        name = offset_file(base_offset, INDEX)
        self.offsets = OffsetIndex(base_offset, index(name, OFFSET_ENTRY))
        name = offset_file(base_offset, TIME_INDEX)
        self.times = TimeIndex(base_offset, index(name, TIME_ENTRY))
        self.transactions = TransactionIndex(
            directory, base_offset, sealed=self.sealed, files=self.files
        )
        self.max_timestamp_offset = base_offset
        self.timestamps_known = not self.sealed

    @property
    def _indexes(self) -> tuple[WrittenFile, ...]:
        return self.offsets.entries, self.times.entries, self.transactions

    @classmethod
    def create(
        cls,
        directory: Directory,
        base_offset: int,
        now_ms: int,
        *,
        files: OpenFiles | None = None,
        reserve: int = 0,
    ) -> "FileWork[Segment]":
        """Create an empty active segment. Errors as `OpenFiles.create`.

        reserve: see `File.reserve`.
        """
        files = files or OpenFiles()
        name = offset_file(base_offset, LOG)
        file = yield from files.create(directory, name, reserve=reserve)
        return cls(directory, base_offset, file=file, created_ms=now_ms, files=files)

    @classmethod
    def open(
        cls,
        directory: Directory,
        base_offset: int,
        now_ms: int,
        *,
        files: OpenFiles | None = None,
        suffix: str = "",
    ) -> "Segment":
        """Open an existing segment as a sealed one. OSError, KafkaError as `OpenFiles.open`.

        suffix: added to the names of its files, until `rename_file` and `rename_indexes`.
        """
        files = files or OpenFiles()
        file = files.open(directory, offset_file(base_offset, LOG) + suffix)
        segment = cls(
            directory, base_offset, file=file, sealed=True, created_ms=now_ms, files=files
        )
        if suffix:
            segment._use_suffix(suffix)
        return segment

    def _use_suffix(self, suffix: str) -> None:
        self._name += suffix
        for index, kind in zip(self._indexes, INDEX_FILES, strict=True):
            index.use_name(offset_file(self.base_offset, kind) + suffix)

    def rename_indexes(self, suffix: str) -> None:
        """Add `suffix` to the names of the index files, as `rename_file`. OSError."""
        for index, kind in zip(self._indexes, INDEX_FILES, strict=True):
            index.rename(offset_file(self.base_offset, kind) + suffix)

    def wrote(self, position: int, header: BatchHeader, index_interval_bytes: int) -> None:
        """Take over a batch that was written, or found, at `position`: timestamps and indexes."""
        last = header.base_offset + header.last_offset_delta
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, last
        if self.rolling_timestamp is None:
            self.rolling_timestamp = self.max_timestamp
        if self._since_index > index_interval_bytes:
            self._index(last, position)
        self._since_index += header.length + LENGTH_END
        recent = self._recent
        recent.append((last, header.base_offset, position))
        if len(recent) >= 2 * _RECENT:
            del recent[:-_RECENT]

    def check_end(self, end: int) -> None:
        """Raise InvariantError unless the file ends at `end`, as nothing else may grow it."""
        if self.size != end:
            raise InvariantError(
                f"{self.directory.path}: a file of {self.size} bytes, want {end} after an append"
            )

    def _index(self, last_offset: int, position: int) -> None:
        self.offsets.append(last_offset, position)
        self.times.append_larger(self.max_timestamp, self.max_timestamp_offset)
        self._since_index = 0

    def reaches(self, offset: int) -> bool:
        """Return whether the indexes can hold an offset. Offsets in the file have no CRC."""
        return 0 <= offset - self.base_offset <= LAST_RELATIVE

    def should_roll(
        self,
        config: LogConfig,
        jitter_ms: int,
        now_ms: int,
        *,
        records: Buffer,
        headers: Sequence[BatchHeader],
    ) -> bool:
        """Return whether a new segment must begin before these batches.

        Reasons are size, age (not below `YOUNGEST_MS`), full indexes and offsets out of reach.
        """
        last = headers[-1]
        file = self._file
        size = file.size if file is not None else self._size
        if (
            size > config.segment_bytes - len(records)
            or last.base_offset + last.last_offset_delta - self.base_offset > LAST_RELATIVE
        ):
            return True
        if size:
            first = self.rolling_timestamp
            if first is not None and first >= 0:
                largest = last.max_timestamp
                if len(headers) > 1:
                    largest = max(header.max_timestamp for header in headers)
                waited = largest - first
            else:
                waited = now_ms - self.created_ms
            if waited > config.segment_ms - jitter_ms and not self._is_young(now_ms):
                return True
        if self._since_index <= config.index_interval_bytes:
            return False  # no entry is due: an append that needs one finds the index full
        limit = config.segment_index_bytes
        return self.offsets.is_full(limit) or self.times.is_full(limit)

    def _is_young(self, now_ms: int) -> bool:
        """Return whether no roll by age is due, whatever the clients' times say.

        A client may set `segment.ms` to 1, or send times that are far apart: each of its batches
        would make four files, one of them with a row for each producer.
        """
        return 0 <= now_ms - self.created_ms < YOUNGEST_MS

    def find(self, offset: int) -> FileWork[Spot | None]:
        """Find the first batch that ends with `offset` or later; None: there is none in this
        segment.

        Raises KafkaError(CORRUPT_MESSAGE) for invalid bytes before it.
        """
        spot = self.find_recent(offset)
        if spot is not None:
            return spot
        try:
            try:
                return (yield from self._find_indexed(offset))
            except (CorruptIndexError, FileNotFoundError) as error:
                yield from self._rebuild_offsets(error)
            return (yield from self._find_indexed(offset))
        except CorruptIndexError:  # the batch of a correct entry is damaged
            return (yield from find_batch(self.file, 0, offset))
        except CutBatchError as cut:
            message = f"{self.file.size} bytes, want {cut.position + cut.size}"
            self.report("segment file ends within a batch", message)
            return None
        except KafkaError as error:
            if error.code is ErrorCode.CORRUPT_MESSAGE:
                self.report("damaged batch in a segment file", str(error))
            raise

    def _find_indexed(self, offset: int) -> FileWork[Spot | None]:
        position = self.offsets.position_now(offset)
        if position is None:
            position = yield from self.offsets.position(offset)
        empty = not self.offsets.entries.count and self.sealed and self.size > BULK
        if empty and not self._index_rebuilt:  # empty: each lookup would scan the whole file
            raise CorruptIndexError(f"no entry for {self.size} bytes")
        return (yield from find_batch(self.file, position, offset))

    def _rebuild_offsets(self, error: Exception) -> FileWork[None]:
        """Rebuild the offset index of a sealed segment, in memory.

        This is done once. If the batches themselves are damaged the old index stays, as it may lead
        behind the damage.
        """
        if not self.sealed or self._index_rebuilt:
            raise error
        file = self.file
        if file.size > BULK:
            yield ReadBytes(file, 0, BULK, BULK)  # too large to read in the loop: scan in a thread
        entries: list[tuple[int, int]] = []
        indexed = 0

        def see(position: int, header: BatchHeader) -> None:
            nonlocal indexed
            if position - indexed > _REBUILT_INTERVAL and self.reaches(header.last_offset):
                entries.append((header.last_offset, position))
                indexed = position

        end = yield from walk(file, 0, see, chunk=BULK)
        self._index_rebuilt = True
        self.report("offset index rebuilt in memory", str(error))
        if end == file.size or not self.offsets.entries.loaded:
            self.offsets.entries.reset()
            for last_offset, position in entries:
                self.offsets.append(last_offset, position)

    def find_recent(self, offset: int) -> Spot | None:
        """Find a batch as `find` does, from memory; None if it is not there."""
        recent = self._recent
        index = bisect_left(recent, (offset,))
        if index == len(recent):
            return None
        last, base, position = recent[index]
        if index == 0 and position != 0:
            return None
        after = recent[index + 1][2] if index + 1 < len(recent) else self.size
        return Spot(position, after - position, base, last)

    def bound_behind(self, position: int, default: int) -> FileWork[int]:
        """Return an offset that no batch before `position` reaches; `default` if none is known.

        The smallest one among the last batches, else one from the index.
        Source: LogSegment.fetchUpperBoundOffset.
        """
        recent = self._recent
        if recent and recent[0][2] <= position:
            index = bisect_left(recent, position, key=itemgetter(2))
            return recent[index][1] if index < len(recent) else default
        try:
            bound = yield from self.offsets.bound_behind(position)
        except (CorruptIndexError, FileNotFoundError):
            return default  # `find` rebuilds it when a lookup needs it
        return default if bound is None else bound

    def modified_ms(self) -> int:
        """Return the wall time (ms) of the last write to the file. OSError, KafkaError as `file`.

        When the segment was first seen, if another program has removed the file.
        """
        try:
            return self.file.modified_ms()
        except FileNotFoundError:
            return self.created_ms

    def index_sizes(self) -> FileWork[tuple[int, int]]:
        """Return the bytes of offset index and time index; 0 for one that cannot be read."""
        sizes = []
        for entries, size in (
            (self.offsets.entries, OFFSET_ENTRY.size),
            (self.times.entries, TIME_ENTRY.size),
        ):
            try:
                if not entries.loaded:
                    yield from entries.load()
            except (CorruptIndexError, FileNotFoundError):
                sizes.append(0)
            else:
                sizes.append(entries.count * size)
        return sizes[0], sizes[1]

    def load_timestamps(self) -> FileWork[None]:
        """Load the largest timestamp of a sealed segment from its time index or its batches."""
        if self.timestamps_known:
            return
        if not self.measure():  # emptied by another program
            self.timestamps_known = True
            return
        try:
            yield from self.times.entries.load()
            self.max_timestamp, self.max_timestamp_offset = self.times.last
            yield from self._check_timestamp()
        except (CorruptIndexError, FileNotFoundError, KafkaError) as error:
            self.report("time index not used", str(error))
            self.times.entries.reset()
            self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
            yield from walk(self.file, 0, self._note_timestamp)
        self.timestamps_known = True

    def _check_timestamp(self) -> FileWork[None]:
        """Compare the last entry of the time index with its batch, as retention relies on it.

        Raises CorruptIndexError.
        """
        seen: list[int] = []
        position = 0
        if self.times.entries.count:
            spot = yield from self.find(self.max_timestamp_offset)
            position = spot.position if spot else self.file.size
        yield from walk(
            self.file,
            position,
            lambda _, header: seen.append(header.max_timestamp),
            end=position + 1,
        )
        if self.file.size and seen[:1] != [self.max_timestamp]:
            raise CorruptIndexError(f"timestamp {self.max_timestamp}, its batch has {seen[:1]}")

    def _note_timestamp(self, position: int, header: BatchHeader) -> None:
        del position
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp = header.max_timestamp
            self.max_timestamp_offset = header.last_offset

    def offset_before(self, timestamp: int) -> FileWork[int]:
        """Return an offset below which every timestamp is smaller than `timestamp`."""
        try:
            return (yield from self.times.offset_before(timestamp))
        except (CorruptIndexError, FileNotFoundError):
            return self.base_offset

    def reset(self) -> None:
        """Discard the indexes, to rebuild them from the batches."""
        self.offsets.entries.reset()
        self.times.entries.reset()
        self.transactions.reset()
        self.max_timestamp, self.max_timestamp_offset = NO_TIMESTAMP, self.base_offset
        self.timestamps_known = True
        self.rolling_timestamp = None
        self._since_index = 0
        self._recent.clear()

    def summary(self) -> "Summary":
        """Return what a check has found, for another process."""
        return Summary(
            offsets=self.offsets.entries.content(),
            times=self.times.entries.content(),
            max_timestamp=self.max_timestamp,
            max_timestamp_offset=self.max_timestamp_offset,
            rolling_timestamp=self.rolling_timestamp,
            since_index=self._since_index,
            recent=tuple(self._recent),
        )

    def take(self, summary: "Summary") -> None:
        """Take over what a check in another process has found, instead of `reset` and `wrote`."""
        self.reset()
        self.offsets.entries.reset(summary.offsets)
        self.times.entries.reset(summary.times)
        self.max_timestamp = summary.max_timestamp
        self.max_timestamp_offset = summary.max_timestamp_offset
        self.rolling_timestamp = summary.rolling_timestamp
        self._since_index = summary.since_index
        self._recent += summary.recent

    def grow_again(self) -> FileWork[None]:
        """Make a sealed segment the active one, with its indexes in memory."""
        self.hold()
        self.unreadable = _ALL_READABLE  # their offsets may be given to other batches
        try:
            yield from self.offsets.entries.grow()
            yield from self.times.entries.grow()
        except (CorruptIndexError, FileNotFoundError):
            self.offsets.entries.reset()
            self.times.entries.reset()
        yield from self.transactions.load()
        self.sealed = False
        yield from self._measure()

    def _measure(self) -> FileWork[None]:
        """Determine the first and the largest timestamp of a growing segment."""
        self.max_timestamp, self.max_timestamp_offset = self.times.last
        self.timestamps_known = True
        self.rolling_timestamp = None
        self._since_index = 0
        covered = yield from self.offsets.position(self.max_timestamp_offset)
        yield from walk(self.file, covered, self._note_timestamp)
        yield from walk(self.file, 0, self._note_first, end=1)

    def _note_first(self, position: int, header: BatchHeader) -> None:
        del position
        self.rolling_timestamp = header.max_timestamp

    def cut(self, offset: int) -> FileWork[None]:
        """Remove index entries from `offset` on, after the file of a growing segment was cut."""
        self.offsets.cut(offset)
        self.times.cut(offset)
        self.transactions.cut(offset)
        self._recent.clear()
        yield from self._measure()

    def write_indexes(self) -> FileWork[None]:
        """Write the indexes to their files, the largest timestamp last. OSError.

        Nothing may be appended before the work ends; lookups go on.
        """
        self.times.append_larger(self.max_timestamp, self.max_timestamp_offset)
        yield from self.offsets.entries.write()
        yield from self.times.entries.write()
        yield from self.transactions.write()

    def seal(self) -> None:
        """Mark the segment as complete. Release the memory of its indexes, now in files."""
        self.offsets.entries.seal()
        self.times.entries.seal()
        self._recent.clear()
        self.sealed = True
        self.files.grows_no_more(self)

    async def sync(self) -> None:
        """Make the batches, and the indexes written before, durable. OSError.

        The files of a sealed segment may be closed for others from then on.
        """
        if self.may_be_dirty:
            await self.sync_file()
        for index in self._indexes:
            await index.sync()
        if self.sealed:
            self.settle_file()
            for index in self._indexes:
                index.settle()

    def close(self) -> None:
        """Close all files; descriptors are closed after the last lease on them.

        A sealed segment opens them again.
        """
        self.close_file()
        for index in self._indexes:
            index.close()
