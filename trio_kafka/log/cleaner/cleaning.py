"""Run of the cleaner over the sealed segments of one partition.

The first pass collects the latest offset of each key, from the first dirty offset on, until the key
map is full. The second pass reads all segments up to there, from the first of the log on, and
writes what remains of each group of segments to a new one.
Source: Kafka's log cleaner.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.batches import PADDING, Batch, SegmentReader, total
from trio_kafka.log.cleaner.columns import Columns
from trio_kafka.log.cleaner.filtering import Filter, control_kind
from trio_kafka.log.cleaner.grouping import group_segments
from trio_kafka.log.cleaner.job import (
    CleanedGroup,
    Cleaning,
    CleaningJob,
    CleaningResult,
    CleaningStats,
    SealedFile,
    Work,
)
from trio_kafka.log.cleaner.key_map import KeyMap
from trio_kafka.log.cleaner.new_segment import NewSegment
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.cleaner.rows import IndexResult, Records, Rows
from trio_kafka.log.cleaner.transactions import Transactions
from trio_kafka.world.protocols import Directory

_SMALLEST_BUFFER: Final = 4096
_PLAN_US: Final = 1.5


def clean(directory: Directory, job: CleaningJob) -> Cleaning:
    """Clean the segments of `job` in the directory of a partition.

    Raises CleaningError for damage, OSError. Then the caller removes the new files.
    """
    pace = Pace()
    records = _records(job, pace)
    try:
        cleaned = yield from _Run(directory=directory, job=job, pace=pace, records=records).clean()
    except Exception:
        yield from records.release()
        raise
    yield from records.release()
    return cleaned


def _records(job: CleaningJob, pace: Pace) -> Records:
    rules = job.rules
    if job.columnar:
        return Columns.make(rules, job.salt, pace)
    return Rows(KeyMap(rules.dedupe_buffer_bytes, rules.load_factor, job.salt), pace)


@define(eq=False, kw_only=True)
class _Run:
    """State of one run. ends: end of each segment, by its base offset."""

    _directory: Directory
    _job: CleaningJob
    _pace: Pace
    _records: Records
    _buffer: memoryview = field(init=False)
    _ends: dict[int, int] = field(init=False)
    _map_bytes: int = field(default=0, init=False)
    _map_messages: int = field(default=0, init=False)
    _bytes_read: int = field(default=0, init=False)

    def __attrs_post_init__(self) -> None:
        size = max(self._job.rules.io_buffer_bytes, _SMALLEST_BUFFER)
        self._buffer = memoryview(bytearray(size + PADDING))
        bases = [segment.base_offset for segment in self._job.segments]
        bases.append(self._job.first_uncleanable_offset)
        self._ends = dict(pairwise(bases))

    def clean(self) -> Cleaning:
        job = self._job
        end_offset = yield from self._index()
        self._pace.indexing = False
        transactions = Transactions.since(job.aborted, 0)
        filtering = Filter(
            rules=job.rules,
            records=self._records,
            transactions=transactions,
            pace=self._pace,
            last_indexed=end_offset - 1,
            upper_bound=job.first_uncleanable_offset,
        )
        groups: list[CleanedGroup] = []
        for group in group_segments(job, end_offset):
            groups.append(  # noqa: PERF401 - it yields
                (yield from self._clean_group(group, filtering, transactions))
            )
        yield self._pace.pause()  # reports the last bytes
        return CleaningResult(
            end_offset=end_offset,
            groups=tuple(groups),
            stats=CleaningStats(
                map_bytes_read=self._map_bytes,
                map_messages_read=self._map_messages,
                map_keys=self._records.keys,
                map_utilization=self._records.utilization,
                bytes_read=self._bytes_read,
                messages_read=filtering.messages_read,
                bytes_written=sum(group.size for group in groups),
                messages_written=filtering.messages_written,
                invalid_messages=filtering.invalid,
                unreadable_batches=filtering.unreadable_batches,
            ),
        )

    def _open(self, segment: SealedFile) -> Work[SegmentReader]:
        return SegmentReader.open(
            self._directory,
            segment.base_offset,
            self._ends[segment.base_offset],
            pace=self._pace,
            buffer=self._buffer,
        )

    def _index(self) -> Work[int]:
        """Fill the key map. Return the end of what it covers."""
        job = self._job
        transactions = Transactions.since(job.aborted, job.first_dirty_offset)
        end = job.first_dirty_offset
        for segment in job.segments:
            if self._ends[segment.base_offset] <= end:
                continue
            reader = yield from self._open(segment)
            try:
                while batches := (yield from reader.next_chunk(job.first_dirty_offset)):
                    indexed = yield from self._index_chunk(reader, batches, transactions)
                    if indexed.batches:
                        end = batches[indexed.batches - 1].header.next_offset
                    if indexed.batches < len(batches):
                        end = indexed.part_end or end
                        if end == job.first_dirty_offset:
                            raise reader.damaged(
                                batches[0].position,
                                "log.cleaner.dedupe.buffer.size has no room for a key",
                            )
                        return end
            finally:
                reader.close()
            end = self._ends[segment.base_offset]  # offsets may be missing at the end
        return end

    def _index_chunk(
        self, reader: SegmentReader, batches: Sequence[Batch], transactions: Transactions
    ) -> Work[IndexResult]:
        """Add the keys of some batches. Return how many batches were added."""
        indexable: list[int] = []
        for number, batch in enumerate(batches):
            header = batch.header
            if batch.is_old:
                continue
            if header.is_control:
                try:
                    kind = yield from control_kind(batch)
                except KafkaError as error:
                    raise reader.damaged(batch.position, str(error.message)) from None
                transactions.see_control(header, kind)
            elif not transactions.see_data(header):
                indexable.append(number)
            if self._pace.due(_PLAN_US):
                yield self._pace.pause()
        count, part_end = yield from self._records.index(
            [batches[number] for number in indexable], self._job.first_dirty_offset
        )
        whole = len(batches) if count == len(indexable) else indexable[count]
        self._map_bytes += total(batches[:whole])
        self._map_messages += sum(batch.header.count for batch in batches[:whole])
        return IndexResult(whole, part_end)

    def _clean_group(
        self, group: Sequence[SealedFile], filtering: Filter, transactions: Transactions
    ) -> Work[CleanedGroup]:
        """Write what remains of a group of segments to a new one."""
        base_offset = group[0].base_offset
        filtering.changed = False
        filtering.unreadable.clear()
        transactions.retained.clear()
        new = yield from NewSegment.create(self._directory, self._job, base_offset, pace=self._pace)
        try:
            for segment in group:
                reader = yield from self._open(segment)
                try:
                    while batches := (yield from reader.next_chunk()):
                        self._bytes_read += total(batches)
                        yield from filtering.run(reader.path, batches, new)
                        yield from new.flush()
                finally:
                    reader.close()
            return (
                yield from new.finish(
                    [segment.base_offset for segment in group],
                    transactions.retained,
                    unchanged=len(group) == 1 and not filtering.changed,
                    unreadable=filtering.unreadable,
                )
            )
        finally:
            new.close()
