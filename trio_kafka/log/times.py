"""Offsets by time: the questions of ListOffsets.

Headers tell which batch to open. Only that one is read; `first_record` looks into it when the
caller has unpacked it.
Source: KIP-33, KIP-734.
"""

from typing import Final, NamedTuple

from trio_kafka.log.reading import Steps, Want
from trio_kafka.log.scan import walk
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, read_header
from trio_kafka.records.skim import skim_records
from trio_kafka.scheduling.chunked_work import Steps as Pauses
from trio_kafka.world.protocols import Buffer

_STEP: Final = 32  # records


class TimedOffset(NamedTuple):
    """A record's offset, its timestamp, and the leader epoch of its batch."""

    offset: int
    timestamp: int
    leader_epoch: int


class Candidate(NamedTuple):
    """A batch that may hold the record; `content` begins with its header."""

    header: BatchHeader
    content: bytes

    @property
    def records(self) -> memoryview:
        """The block of records, maybe compressed."""
        return memoryview(self.content)[HEADER_SIZE:]


def find_time(segments: Segments, timestamp: int, start_offset: int) -> Steps[Candidate | None]:
    """The first batch, from the one that holds `start_offset` on, whose largest timestamp is
    `timestamp` or later.
    """
    for segment in segments:
        if not segment.measure():
            continue  # empty, or emptied by another program
        yield from segment.load_timestamps()
        if segment.max_timestamp < timestamp:
            continue
        before = yield from segment.offset_before(timestamp)
        spot = yield from segment.find(max(before, start_offset, segment.base_offset))
        position = spot.position if spot else segment.size
        batch = yield from _first_batch(segment, position, timestamp)
        if batch is not None:
            return (yield from _candidate(segment, *batch))
    return None


def find_largest_time(segments: Segments) -> Steps[tuple[Candidate, int] | None]:
    """The batch that has the largest timestamp of all, and this timestamp."""
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
    return (yield from _candidate(best, *batch)), best.max_timestamp


def first_record(
    candidate: Candidate, plain: Buffer, timestamp: int, start_offset: int
) -> Pauses[TimedOffset | None]:
    """The first record from `start_offset` on with `timestamp` or a later one, in steps.

    plain: the candidate's records, unpacked. Raises KafkaError(CORRUPT_MESSAGE).
    """
    header = candidate.header
    for number, skimmed in enumerate(skim_records(plain, header), 1):
        if skimmed is not None:
            delta, time, _ = skimmed
            offset = header.base_offset + delta
            if time >= timestamp and offset >= start_offset:
                return TimedOffset(offset, time, header.leader_epoch)
        if skimmed is None or not number % _STEP:
            yield
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


def _candidate(segment: Segment, position: int, header: BatchHeader) -> Steps[Candidate]:
    view = yield Want(segment.file, position, header.size, header.size)
    content = bytes(view)
    return Candidate(read_header(content), content)
