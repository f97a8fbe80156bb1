"""Offsets by time: the questions of ListOffsets.

Headers tell which batch to open; only that one is read and decompressed.
Source: KIP-33, KIP-734.
"""

from typing import NamedTuple

from trio_kafka.log.reading import Steps, Want
from trio_kafka.log.scan import walk
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.records.batch import Record, read_records
from trio_kafka.records.header import LOG_APPEND_TIME, BatchHeader, read_header


class TimedOffset(NamedTuple):
    """A record's offset, its timestamp, and the leader epoch of its batch."""

    offset: int
    timestamp: int
    leader_epoch: int


def find_time(segments: Segments, timestamp: int, start_offset: int) -> Steps[TimedOffset | None]:
    """The first record from `start_offset` on whose timestamp is `timestamp` or later."""
    for segment in segments:
        if not segment.measure():
            continue  # empty, or emptied by another program
        yield from segment.load_timestamps()
        if segment.max_timestamp < timestamp:
            continue
        before = yield from segment.offset_before(timestamp)
        spot = yield from segment.find(max(before, start_offset, segment.base_offset))
        position = spot.position if spot else segment.size
        while True:
            batch = yield from _first_batch(segment, position, timestamp)
            if batch is None:
                break
            position, header = batch
            records = yield from _records(segment, position, header)
            for record in records:
                if record.timestamp >= timestamp and record.offset >= start_offset:
                    return TimedOffset(record.offset, record.timestamp, header.leader_epoch)
            position += header.size
    return None


def find_largest_time(segments: Segments, start_offset: int) -> Steps[TimedOffset | None]:
    """The first record that has the largest timestamp of all."""
    best: Segment | None = None
    for segment in segments:
        yield from segment.load_timestamps()
        if best is None or segment.max_timestamp > best.max_timestamp:
            best = segment
    if best is None or best.max_timestamp < 0:
        return None
    spot = yield from best.find(best.max_timestamp_offset)
    if spot is None:
        return None
    batch = yield from _first_batch(best, spot.position, best.max_timestamp)
    if batch is None:
        return None
    position, header = batch
    records = yield from _records(best, position, header)
    for record in records:
        if record.timestamp == best.max_timestamp and record.offset >= start_offset:
            return TimedOffset(record.offset, record.timestamp, header.leader_epoch)
    return None


class _Enough(Exception):  # noqa: N818 - ends a walk, no error
    def __init__(self, position: int, header: BatchHeader) -> None:
        super().__init__()
        self.found = position, header


def _first_batch(
    segment: Segment, position: int, timestamp: int
) -> Steps[tuple[int, BatchHeader] | None]:
    def see(here: int, header: BatchHeader) -> None:
        if header.max_timestamp >= timestamp:
            raise _Enough(here, header)

    try:
        yield from walk(segment.file, position, see)
    except _Enough as enough:
        return enough.found
    return None


def _records(segment: Segment, position: int, header: BatchHeader) -> Steps[list[Record]]:
    """The records of one batch; with log append time all have the batch's."""
    view = yield Want(segment.file, position, header.size, header.size)
    content = bytes(view)
    header = read_header(content)
    records = list(read_records(content, 0, header))
    if header.attributes & LOG_APPEND_TIME:
        for record in records:
            record.timestamp = header.max_timestamp
    return records
