"""Compare one segment's batches, order and indexes, as `verify` shows them.

Kinds of findings: `batch` (a header, CRC or records that cannot be read), `order` (offsets or
leader epochs that go back), `offset index`, `time index` and `transaction index`. An index of the
active segment may end early, or be filled up with zeros: the broker writes it later.
Source: Kafka's formats of `.log`, `.index`, `.timeindex` and `.txnindex`.
"""

import os
from collections.abc import Iterator
from pathlib import Path
from struct import Struct
from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import BatchHeader, iterate_headers
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
_OFFSETS: Final = Struct(">II")
_TIMES: Final = Struct(">qI")
_ABORTED: Final = Struct(">hqqqq")


@frozen(kw_only=True)
class Finding:
    """Something wrong at a position of a file."""

    file: str
    position: int
    kind: str
    error: str


@define
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
        pieces = segment_pieces(at, segment, 0, WHOLE_SEGMENT, WHOLE_SEGMENT)
    except FileNotFoundError:
        return
    for piece in pieces:
        for window in read_windows(piece, _WINDOW, on_bad):
            _see(window, seen, segment)
            for _ in decoded(window, ("offset",), on_bad):
                pass
    yield from seen.findings
    if os.path.lexists(segment.path):
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


def _content(segment: SegmentFile, suffix: str) -> tuple[str, bytes | None]:
    path = Path(segment.path.removesuffix(LOG) + suffix)
    try:
        return str(path), path.read_bytes()
    except FileNotFoundError:
        return str(path), None


def _offset_index(segment: SegmentFile, seen: _Seen) -> Iterator[Finding]:
    path, content = _content(segment, INDEX)

    def finding(position: int, error: str) -> Finding:
        return Finding(file=path, position=position, kind=OFFSET_INDEX, error=error)

    if content is None:
        if not segment.is_active:
            yield finding(0, "the file is missing")
        return
    if len(content) % _OFFSETS.size:
        yield finding(0, f"{len(content)} bytes, want a multiple of {_OFFSETS.size}")
    before = (-1, -1)
    for number in range(len(content) // _OFFSETS.size):
        place = number * _OFFSETS.size
        relative, position = _OFFSETS.unpack_from(content, place)
        if not position:
            if any(content[place:]):
                yield finding(place, "zeros in front of other entries")
            return
        offset = segment.base_offset + relative
        if (relative, position) <= before or relative <= before[0] or position <= before[1]:
            yield finding(place, f"offset {offset} at {position} does not ascend")
        elif position not in seen.ends:
            yield finding(place, f"no batch begins at {position} of the log")
        elif seen.ends[position] != offset:
            yield finding(
                place, f"offset {offset} at {position}, the batch ends at {seen.ends[position]}"
            )
        before = (relative, position)


def _time_index(segment: SegmentFile, seen: _Seen) -> Iterator[Finding]:
    path, content = _content(segment, TIME_INDEX)

    def finding(position: int, error: str) -> Finding:
        return Finding(file=path, position=position, kind=TIME_INDEX_KIND, error=error)

    if content is None:
        if not segment.is_active:
            yield finding(0, "the file is missing")
        return
    if len(content) % _TIMES.size:
        yield finding(0, f"{len(content)} bytes, want a multiple of {_TIMES.size}")
    before = (-1, -1)
    for number in range(len(content) // _TIMES.size):
        place = number * _TIMES.size
        timestamp, relative = _TIMES.unpack_from(content, place)
        if not timestamp and not relative and not any(content[place:]):
            break
        offset = segment.base_offset + relative
        if timestamp <= before[0] or relative < before[1]:
            yield finding(place, f"timestamp {timestamp} at offset {offset} does not ascend")
        elif timestamp not in (-1, seen.times.get(offset)):
            found = seen.times.get(offset)
            what = "no batch ends there" if found is None else f"the batch there has {found}"
            yield finding(place, f"timestamp {timestamp} at offset {offset}, {what}")
        before = (timestamp, relative)
    if not segment.is_active and seen.ends and before[0] < seen.latest:
        yield finding(
            len(content), f"ends with timestamp {before[0]}, the largest one is {seen.latest}"
        )


def _transaction_index(segment: SegmentFile) -> Iterator[Finding]:
    path, content = _content(segment, TRANSACTION_INDEX)
    if content is None:
        return

    def finding(position: int, error: str) -> Finding:
        return Finding(file=path, position=position, kind=TRANSACTIONS, error=error)

    if len(content) % _ABORTED.size:
        yield finding(0, f"{len(content)} bytes, want a multiple of {_ABORTED.size}")
    before = segment.base_offset - 1
    for number in range(len(content) // _ABORTED.size):
        place = number * _ABORTED.size
        version, _, first, last, _ = _ABORTED.unpack_from(content, place)
        beyond = segment.next_base is not None and last >= segment.next_base
        if version != 0 or not 0 <= first <= last or last <= before or beyond:
            yield finding(place, f"version {version}, from {first} to {last} after {before}")
        before = max(before, last)
