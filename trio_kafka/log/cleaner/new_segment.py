"""A new segment that a run writes: batches, the offset and time index, aborted transactions.

Batches are gathered to writes of some size. The indexes are kept in memory until the end, as those
of an active segment are.
"""

from collections.abc import Sequence

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.log.cleaner.job import CleanedGroup, CleaningJob, UnreadableBatch, Work
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX
from trio_kafka.log.files.operations import AppendBytes, CreateFile
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.log.index.offset import ENTRY as OFFSET_ENTRY
from trio_kafka.log.index.time import ENTRY as TIME_ENTRY
from trio_kafka.log.index.time import NO_TIMESTAMP
from trio_kafka.log.index.transaction import pack_entries
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.protocols import Buffer, Directory, File


@define(eq=False, kw_only=True)
class NewSegment:
    """Segment with this base offset, in files that are not synced. size: bytes of its batches."""

    _directory: Directory
    _job: CleaningJob
    _base_offset: int
    _file: File
    _pace: Pace
    size: int = field(default=0, init=False)
    _pending: list[Buffer] = field(factory=list, init=False)
    _pending_bytes: int = field(default=0, init=False)
    _since_index: int = field(default=0, init=False)
    _offsets: bytearray = field(factory=bytearray, init=False)
    _times: bytearray = field(factory=bytearray, init=False)
    _indexed_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _max_timestamp: int = field(default=NO_TIMESTAMP, init=False)
    _max_timestamp_offset: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._max_timestamp_offset = self._base_offset

    @classmethod
    def create(
        cls, directory: Directory, job: CleaningJob, base_offset: int, *, pace: Pace
    ) -> "Work[NewSegment]":
        """Create the log file; an old one of the same name is emptied. OSError."""
        name = job.name(base_offset, LOG)
        file: File = yield CreateFile(directory, name, b"", replace=True)
        return cls(directory=directory, job=job, base_offset=base_offset, file=file, pace=pace)

    def close(self) -> None:
        self._file.close()

    def add(self, header: BatchHeader, batch: Buffer) -> None:
        """Add a batch. `batch` is written by the next `flush`."""
        if header.max_timestamp > self._max_timestamp:
            self._max_timestamp = header.max_timestamp
            self._max_timestamp_offset = header.last_offset
        if self._since_index > self._job.rules.index_interval_bytes:
            self._offsets += OFFSET_ENTRY.pack(header.last_offset - self._base_offset, self.size)
            self._index_time()
            self._since_index = 0
        self._since_index += len(batch)
        self._pending.append(batch)
        self._pending_bytes += len(batch)
        self.size += len(batch)

    def _index_time(self) -> None:
        """Add an entry for the largest timestamp so far, if it has grown."""
        if self._max_timestamp > self._indexed_timestamp:
            relative = self._max_timestamp_offset - self._base_offset
            self._times += TIME_ENTRY.pack(self._max_timestamp, relative)
            self._indexed_timestamp = self._max_timestamp

    def flush(self) -> Work[None]:
        """Write all added batches. OSError."""
        if not self._pending:
            return
        content = self._pending[0] if len(self._pending) == 1 else b"".join(self._pending)
        size = self._pending_bytes
        self._pending, self._pending_bytes = [], 0
        yield AppendBytes(self._file, content)
        self._pace.moved += size

    def finish(
        self,
        replaced: Sequence[int],
        transactions: Sequence[AbortedTransaction],
        *,
        unchanged: bool,
        unreadable: Sequence[UnreadableBatch] = (),
    ) -> Work[CleanedGroup]:
        """Write the rest and the indexes. OSError."""
        yield from self.flush()
        self._index_time()
        contents = [(INDEX, bytes(self._offsets)), (TIME_INDEX, bytes(self._times))]
        if transactions:
            contents.append((TRANSACTION_INDEX, pack_entries(transactions)))
        for suffix, content in contents:
            name = self._job.name(self._base_offset, suffix)
            file: File = yield CreateFile(self._directory, name, content, replace=True)
            file.close()
        return CleanedGroup(
            base_offset=self._base_offset,
            replaced=tuple(replaced),
            size=self.size,
            max_timestamp=self._max_timestamp,
            max_timestamp_offset=self._max_timestamp_offset,
            transactions=len(transactions),
            unchanged=unchanged,
            unreadable=tuple(unreadable),
        )
