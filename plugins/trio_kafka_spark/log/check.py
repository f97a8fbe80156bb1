"""Compare one segment's batches, order and indexes, as `verify` shows them.

Kinds of findings: `batch` (a header, CRC or records that cannot be read), `order` (offsets or
leader epochs that go back), `offset index`, `time index` and `transaction index`. An index of the
active segment may end early, or be filled up with zeros: the broker writes it later.
Source: Kafka's formats of `.log`, `.index`, `.timeindex` and `.txnindex`.
"""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from struct import Struct
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX
from trio_kafka.log.scan.index_files import (
    ABORTED_ENTRY,
    OFFSET_ENTRY,
    TIME_ENTRY,
    entries_of,
    remainder,
)
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import BatchHeader, iterate_headers
from trio_kafka.world.blocking_file import FileReader, open_reader
from trio_kafka_spark.log.directories import SegmentFile
from trio_kafka_spark.log.records import decoded
from trio_kafka_spark.log.splits import segment_pieces
from trio_kafka_spark.log.windows import WHOLE_SEGMENT, BadBytes, Window, read_windows

BATCH: Final = "batch"
ORDER: Final = "order"
OFFSET_INDEX: Final = "offset index"
TIME_INDEX_KIND: Final = "time index"
TRANSACTIONS: Final = "transaction index"
_WINDOW: Final = 4 << 20


@frozen(kw_only=True)
class Finding:
    """Something wrong at a position of a file."""

    file: str
    position: int
    kind: str
    error: str


@define(kw_only=True)
class _Seen:
    """Facts from the batch headers of a segment. ends: last offset by position of its batch."""

    epoch: int = -1
    next_offset: int = 0
    latest: int = -1
    ends: dict[int, int] = field(factory=dict)
    times: dict[int, int] = field(factory=dict)  # max timestamp of the batch, by its last offset
    findings: list[Finding] = field(factory=list)


def check_segment(at: TopicPartition, segment: SegmentFile) -> Iterator[Finding]:
    """Yield what is wrong with a segment and its indexes, nothing if it vanished. OSError."""
    seen = _Seen(next_offset=segment.base_offset)

    def on_bad(bad: BadBytes) -> None:
        seen.findings.append(
            Finding(file=bad.path, position=bad.position, kind=BATCH, error=bad.reason)
        )

    try:
        pieces = segment_pieces(at, segment, start=0, stop=WHOLE_SEGMENT, split_bytes=WHOLE_SEGMENT)
    except FileNotFoundError:
        return
    for piece in pieces:
        for window in read_windows(piece, _WINDOW, on_bad):
            _see(window, seen, segment)
            for _ in decoded(window, ("offset",), on_bad):
                pass
    yield from seen.findings
    # The indexes of a `.swap` file are renamed before it, so they have either name.
    if os.path.lexists(segment.path) and segment.path.endswith(LOG):
        yield from _offset_index(segment, seen)
        yield from _time_index(segment, seen)
        yield from _transaction_index(segment)


def _see(window: Window, seen: _Seen, segment: SegmentFile) -> None:
    for position, header in iterate_headers(memoryview(window.data)):
        place = window.position + position
        problem = _order(header, seen, segment)
        if problem is not None:
            seen.findings.append(
                Finding(file=segment.path, position=place, kind=ORDER, error=problem)
            )
        seen.epoch = max(seen.epoch, header.leader_epoch)
        seen.next_offset = header.next_offset
        seen.latest = max(seen.latest, header.max_timestamp)
        seen.ends[place] = header.last_offset
        seen.times[header.last_offset] = header.max_timestamp


def _order(header: BatchHeader, seen: _Seen, segment: SegmentFile) -> str | None:
    if header.leader_epoch < seen.epoch:
        return f"leader epoch {header.leader_epoch} after {seen.epoch}"
    if segment.next_base is not None and header.next_offset > segment.next_base:
        return f"offset {header.last_offset}, and the next segment begins at {segment.next_base}"
    return None


@frozen(kw_only=True)
class _Index:
    """An index file. file: None: it is missing."""

    path: str
    kind: str
    layout: Struct
    file: FileReader | None

    def finding(self, position: int, error: str) -> Finding:
        return Finding(file=self.path, position=position, kind=self.kind, error=error)

    def check_size(self, *, is_needed: bool) -> Iterator[Finding]:
        """Yield the finding of a missing file, or of a size that is no multiple of its entries."""
        if self.file is None:
            if is_needed:
                yield self.finding(0, "the file is missing")
        elif remainder(self.file, self.layout):
            yield self.finding(0, f"{self.file.size} bytes, want a multiple of {self.layout.size}")

    def entries(self) -> Iterator[tuple[int, ...]]:
        """Yield each whole entry, its place in the file first."""
        if self.file is not None:
            for number, fields in enumerate(entries_of(self.file, self.layout)):
                yield number * self.layout.size, *fields

    def is_zero_from(self, place: int) -> bool:
        """Return whether nothing but zeros follows."""
        return self.file is None or not any(self.file.read(place, self.file.size - place))


@contextmanager
def _opened(segment: SegmentFile, suffix: str, *, layout: Struct, kind: str) -> Iterator[_Index]:
    path = segment.path.removesuffix(LOG) + suffix
    with ExitStack() as stack:
        file = None
        with suppress(FileNotFoundError):
            file = stack.enter_context(open_reader(path))
        yield _Index(path=path, kind=kind, layout=layout, file=file)


def _offset_index(segment: SegmentFile, seen: _Seen) -> Iterator[Finding]:
    with _opened(segment, INDEX, layout=OFFSET_ENTRY, kind=OFFSET_INDEX) as index:
        yield from index.check_size(is_needed=not segment.is_active)
        before = (-1, -1)
        for place, relative, position in index.entries():
            if not position:
                if not index.is_zero_from(place):
                    yield index.finding(place, "zeros in front of other entries")
                return
            offset = segment.base_offset + relative
            if relative <= before[0] or position <= before[1]:
                yield index.finding(place, f"offset {offset} at {position} does not ascend")
            elif position not in seen.ends:
                yield index.finding(place, f"no batch begins at {position} of the log")
            elif seen.ends[position] != offset:
                end = seen.ends[position]
                text = f"offset {offset} at {position}, the batch ends at {end}"
                yield index.finding(place, text)
            before = (relative, position)


def _time_index(segment: SegmentFile, seen: _Seen) -> Iterator[Finding]:
    with _opened(segment, TIME_INDEX, layout=TIME_ENTRY, kind=TIME_INDEX_KIND) as index:
        yield from index.check_size(is_needed=not segment.is_active)
        before = (-1, -1)
        for place, timestamp, relative in index.entries():
            if not timestamp and not relative and index.is_zero_from(place):
                break
            offset = segment.base_offset + relative
            if timestamp <= before[0] or relative < before[1]:
                text = f"timestamp {timestamp} at offset {offset} does not ascend"
                yield index.finding(place, text)
            elif timestamp not in (-1, seen.times.get(offset)):
                latest = seen.times.get(offset)
                reason = (
                    "no batch ends there" if latest is None else f"the batch there has {latest}"
                )
                text = f"timestamp {timestamp} at offset {offset}, {reason}"
                yield index.finding(place, text)
            before = (timestamp, relative)
        is_short = seen.ends and before[0] < seen.latest and not segment.is_active
        if index.file is not None and is_short:
            text = f"ends with timestamp {before[0]}, the largest one is {seen.latest}"
            yield index.finding(index.file.size, text)


def _transaction_index(segment: SegmentFile) -> Iterator[Finding]:
    with _opened(segment, TRANSACTION_INDEX, layout=ABORTED_ENTRY, kind=TRANSACTIONS) as index:
        yield from index.check_size(is_needed=False)
        before = segment.base_offset - 1
        for place, version, _, first, last, _ in index.entries():
            beyond = segment.next_base is not None and last >= segment.next_base
            if version != 0 or not 0 <= first <= last or last <= before or beyond:
                text = f"version {version}, from {first} to {last} after {before}"
                yield index.finding(place, text)
            before = max(before, last)
