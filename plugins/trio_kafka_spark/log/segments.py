"""One Arrow row a segment file: the segments view."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import pyarrow as pa

from trio_kafka.attributes import define, frozen
from trio_kafka.log.files.names import INDEX, LOG, TIME_INDEX, TRANSACTION_INDEX
from trio_kafka.log.scan.batches import HEADERS, Batch
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import BatchHeader
from trio_kafka.world.blocking_file import open_reader
from trio_kafka_spark.log.directories import SegmentFile
from trio_kafka_spark.log.plan import Range
from trio_kafka_spark.log.schemas import SEGMENTS, WALKED
from trio_kafka_spark.log.walk import measure_end, reason_of, walk_headers

_SEGMENTS_A_TASK: Final = 64
_BYTES_A_TASK: Final = 1 << 30


@frozen(kw_only=True)
class SegmentOf:
    """A segment and its partition."""

    at: TopicPartition
    segment: SegmentFile


def plan_segments(ranges: Iterable[Range]) -> list[tuple[SegmentOf, ...]]:
    """Return the segments that hold offsets of the ranges, put together for tasks."""
    packs: list[tuple[SegmentOf, ...]] = []
    pack: list[SegmentOf] = []
    for range_ in ranges:
        for segment in range_.partition.segments:
            before = segment.next_base is not None and segment.next_base <= range_.start
            if before or segment.base_offset >= range_.stop:
                continue
            pack.append(SegmentOf(at=range_.partition.at, segment=segment))
            size = sum(each.segment.size for each in pack)
            if len(pack) >= _SEGMENTS_A_TASK or size >= _BYTES_A_TASK:
                packs.append(tuple(pack))
                pack = []
    return [*packs, tuple(pack)] if pack else packs


def read_segments(
    segments: Sequence[SegmentOf], columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of some segments, those that vanished left out. Raises OSError.

    Headers are walked only for columns that need it (WALKED).
    """
    rows: list[dict[str, object]] = []
    for placed in segments:
        try:
            row = _files(placed)
            if not WALKED.isdisjoint(columns):
                row.update(_walked(placed.segment))
        except FileNotFoundError:
            continue
        rows.append({name: row[name] for name in columns})
    if rows:
        schema = pa.schema([SEGMENTS.field(name) for name in columns])
        yield pa.RecordBatch.from_pylist(rows, schema=schema)


def _files(placed: SegmentOf) -> dict[str, object]:
    segment = placed.segment
    path = Path(segment.path)
    status = path.stat()
    return {
        "topic": placed.at.topic,
        "partition": placed.at.partition,
        "file": segment.path,
        "base_offset": segment.base_offset,
        "is_active": segment.is_active,
        "size": status.st_size,
        "index_size": _size(segment, INDEX),
        "time_index_size": _size(segment, TIME_INDEX),
        "transaction_index_size": _size(segment, TRANSACTION_INDEX),
        "modified": datetime.fromtimestamp(status.st_mtime_ns / 1e9, UTC),
    }


def _size(segment: SegmentFile, suffix: str) -> int | None:
    try:
        return Path(segment.path.removesuffix(LOG) + suffix).stat().st_size
    except FileNotFoundError:
        return None


@define(kw_only=True)
class _Tally:
    """Totals of the batch headers of a segment."""

    first: int | None = None
    last: int | None = None
    batches: int = 0
    records: int = 0
    earliest: int | None = None
    latest: int | None = None

    def add(self, header: BatchHeader) -> None:
        if self.first is None:
            self.first = header.base_offset
        self.last = header.last_offset
        self.batches += 1
        self.records += header.count
        if header.max_timestamp < 0:
            return
        base = header.base_timestamp if header.delete_horizon is None else header.max_timestamp
        base = header.max_timestamp if header.is_log_append_time or base < 0 else base
        self.earliest = base if self.earliest is None else min(self.earliest, base)
        self.latest = max(self.latest or 0, header.max_timestamp)


def _walked(segment: SegmentFile) -> dict[str, object]:
    tally = _Tally()
    error: str | None = None
    at = 0
    with open_reader(segment.path, HEADERS) as file:
        end = file.size
        if segment.is_active:
            end, _ = measure_end(file, begin=0, least=segment.base_offset, size=end)
        for piece in walk_headers(file, 0, end, least=segment.base_offset):
            if isinstance(piece, Batch):
                tally.add(piece.header)
                at = piece.position + piece.header.size
                continue
            error = error or f"position {piece.position}: {reason_of(piece.damage)}"
            if not piece.tail:
                at = piece.end
    return {
        "first_offset": tally.first,
        "last_offset": tally.last,
        "batches": tally.batches,
        "records": tally.records,
        "min_timestamp": _time(tally.earliest),
        "max_timestamp": _time(tally.latest),
        "whole_size": at,
        "error": error,
    }


def _time(milliseconds: int | None) -> datetime | None:
    return None if milliseconds is None else datetime.fromtimestamp(milliseconds / 1000, UTC)
