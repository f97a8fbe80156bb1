"""Search of offsets by timestamp, for ListOffsets.

Batch headers show which batch to open. Only that batch is read and decompressed.
Source: KIP-33, KIP-734.
"""

from functools import partial
from typing import Final, NamedTuple

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.files.operations import FileWork, ReadBytes
from trio_kafka.log.log import Log
from trio_kafka.log.read import perform_in_threads
from trio_kafka.log.scan.walk import STOP, walk
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.header import HEADER_SIZE, BatchHeader
from trio_kafka.records.legacy import read_legacy_records, read_message
from trio_kafka.records.record_scan import scan_records
from trio_kafka.records.stored_header import is_legacy, read_stored_header
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.world.protocols import Buffer

_STEP: Final = 32  # records
_SLICE_S: Final = 0.001
_WITHIN_S: Final = 10.0  # for one batch


class TimedOffset(NamedTuple):
    """A record's offset, its timestamp, and the leader epoch of its batch."""

    offset: int
    timestamp: int
    leader_epoch: int


class Candidate(NamedTuple):
    """A batch that may hold the wanted record. `content` begins with its header."""

    header: BatchHeader
    content: bytes

    @property
    def records(self) -> memoryview:
        """The block of records, maybe compressed."""
        return memoryview(self.content)[HEADER_SIZE:]


def find_time(segments: Segments, timestamp: int, start_offset: int) -> FileWork[Candidate | None]:
    """Find the first batch with a largest timestamp of `timestamp` or later.

    The search begins with the batch that holds `start_offset`.
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


def find_largest_time(segments: Segments) -> FileWork[tuple[Candidate, int] | None]:
    """Find the batch with the largest timestamp of the log. Return it with this timestamp."""
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
    candidate: Candidate, plain: Buffer, timestamp: int, *, start_offset: int
) -> Steps[TimedOffset | None]:
    """Find the first record from `start_offset` on with `timestamp` or a later one, in steps.

    plain: the candidate's records, decompressed. Raises KafkaError(CORRUPT_MESSAGE).
    """
    header = candidate.header
    for number, skimmed in enumerate(scan_records(plain, header), 1):
        if skimmed is not None:
            delta, time, *_ = skimmed
            offset = header.base_offset + delta
            if time >= timestamp and offset >= start_offset:
                return TimedOffset(offset, time, header.leader_epoch)
        if skimmed is None or not number % _STEP:
            yield
    return None


def _first_batch(
    segment: Segment, position: int, timestamp: int
) -> FileWork[tuple[int, BatchHeader] | None]:
    matches: list[tuple[int, BatchHeader]] = []

    def see(at: int, header: BatchHeader) -> object:
        if header.max_timestamp < timestamp:
            return None
        matches.append((at, header))
        return STOP

    yield from walk(segment.file, position, see)
    return matches[0] if matches else None


def _candidate(segment: Segment, position: int, header: BatchHeader) -> FileWork[Candidate]:
    view = yield ReadBytes(segment.file, position, header.size, header.size)
    content = bytes(view)
    return Candidate(read_stored_header(content), content)


async def offset_for_timestamp(
    log: Log, timestamp_ms: int, decompression: Decompression
) -> TimedOffset | None:
    """Find the first record with this timestamp or a later one; None: there is none.

    Raises KafkaError; OFFSET_NOT_AVAILABLE while the memory for large batches is in use.
    """
    offset = log.start_offset
    while True:
        start = max(offset, log.start_offset)
        candidate = await perform_in_threads(
            log, partial(find_time, log.segments, timestamp_ms, start)
        )
        if candidate is None:
            return None
        timed_offset = await _look_into(
            log, candidate, timestamp_ms, start_offset=start, decompression=decompression
        )
        if timed_offset is not None:
            return timed_offset
        offset = candidate.header.next_offset  # its header may claim a later time


async def largest_timestamp(log: Log, decompression: Decompression) -> TimedOffset | None:
    """Find the first record with the largest timestamp; None: the log is empty."""
    best = await perform_in_threads(log, partial(find_largest_time, log.segments))
    if best is None:
        return None
    candidate, timestamp_ms = best
    return await _look_into(
        log, candidate, timestamp_ms, start_offset=log.start_offset, decompression=decompression
    )


async def _look_into(
    log: Log,
    candidate: Candidate,
    timestamp_ms: int,
    *,
    start_offset: int,
    decompression: Decompression,
) -> TimedOffset | None:
    """Find the first late enough record of a batch. Other tasks run after each millisecond.

    Request handlers are few, so this one neither queues for the large buffer nor searches for long.
    It raises OFFSET_NOT_AVAILABLE, which clients retry.
    """
    if is_legacy(candidate.header.magic):
        return await log.world.run_beside(_first_message, candidate, timestamp_ms, start_offset)
    elapsed = log.world.clock.elapsed
    codec, block = candidate.header.codec, candidate.records
    try:
        with trio.fail_after(_WITHIN_S):
            async with decompression.unpacked(
                codec, block, DECOMPRESSED_LIMIT, wait=False
            ) as plain:
                steps = first_record(candidate, plain, timestamp_ms, start_offset=start_offset)
                while True:
                    done = advance(steps, elapsed, elapsed() + _SLICE_S)
                    if done is not None:
                        return done.value
                    await trio.lowlevel.checkpoint()
    except (trio.WouldBlock, trio.TooSlowError):
        message = (
            f"offset {candidate.header.base_offset}: the memory for large batches is in use, retry"
        )
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, message) from None


def _first_message(candidate: Candidate, timestamp: int, start_offset: int) -> TimedOffset | None:
    """Find a message as `first_record` finds a record. Raises KafkaError(CORRUPT_MESSAGE)."""
    for record in read_legacy_records(read_message(candidate.content)):
        if record.timestamp >= timestamp and record.offset >= start_offset:
            return TimedOffset(record.offset, record.timestamp, candidate.header.leader_epoch)
    return None
