"""Where the bytes of a fetch are: found, not read."""

from typing import NamedTuple

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.index.transaction import AbortedTransaction
from trio_kafka.log.reading import Steps
from trio_kafka.log.segments import Segments
from trio_kafka.records.file_range import FileRange
from trio_kafka.records.header import iterate_headers
from trio_kafka.world.protocols import File


class Found(NamedTuple):
    """What a read gives. range: None where there is nothing (yet), else it must be released.

    position, first_offset: of the first batch, which may begin below the offset asked for.
    """

    range: FileRange | None
    position: int
    first_offset: int


class Place(NamedTuple):
    """Bytes of a segment's file that begin with the batch of `first_offset`."""

    file: File
    position: int
    size: int
    first_offset: int


def find_place(
    segments: Segments,
    offset: int,
    max_bytes: int,
    end_offset: int,
    log_end: int,
    *,
    at_least_one: bool,
    gaps: bool = True,
) -> Steps[Place | None]:
    """At most `max_bytes` from the batch that holds `offset`, none of them of a batch that ends
    at `end_offset` or later; more only for the first batch, and only with `at_least_one`.

    The last batch may be cut short by `max_bytes`, as Kafka's are; never the first. Where the rest
    of a segment's file is gone, the next segment follows, as in Kafka's LocalLog.
    gaps: offsets may be missing between segments, as after compaction; else a missing one is
        reported.
    """
    if offset >= end_offset:
        return None
    number = segments.floor(offset)
    while (segment := segments.at(number)) is not None:
        limit = segment.measure()
        first = (yield from segment.find(offset)) if limit else None
        if first is not None:
            break
        number += 1
        if not gaps and (after := segments.at(number)) is not None:
            found = f"no record at offset {offset} or later, want up to {after.base_offset - 1}"
            segment.report("records missing in a segment file", found)
    else:
        return None
    if first.last_offset >= segments.end_of(number, log_end):
        found = f"last offset {first.last_offset} in the batch at position {first.position}"
        segment.report("damaged batch in a segment file", found)
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, found)
    if first.last_offset >= end_offset:
        return None
    if end_offset < segments.end_of(number, log_end):
        beyond = yield from segment.find(end_offset)
        if beyond is not None:
            limit = beyond.position
    size = min(max_bytes, limit - first.position)
    if size < first.size:
        if not at_least_one:
            return None
        size = first.size
    return Place(segment.file, first.position, size, first.base_offset)


def lease(file: File, position: int, size: int, first_offset: int) -> Found:
    """The range of what begins with the batch of `first_offset`; it must be released."""
    range_ = FileRange(file.lease(position + size), position, size)
    return Found(range_, position, first_offset)


def whole_batches(content: memoryview) -> bytes:
    """A copy of the batches of which `content` has all."""
    end = 0
    for position, header in iterate_headers(content):
        end = position + header.size
    return bytes(content[:end])


def find_aborted(segments: Segments, first: int, end: int) -> Steps[list[AbortedTransaction]]:
    """Aborted transactions whose records or markers lie between `first` and `end` (exclusive)."""
    found: list[AbortedTransaction] = []
    number = segments.floor(first)
    while (segment := segments.at(number)) is not None:
        entries = yield from segment.transactions.all()
        for aborted in entries:
            if aborted.last_offset >= first and aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return found
        number += 1
    return found
