"""Reads of a log: the position of the bytes at an offset; aborted transactions.

Each search is a generator of file operations, run by `perform_now` or `perform_in_threads`. Any
number of reads may run at a time. A search finds a `FileSlice`, which holds nothing, so that a
result may be discarded. The caller takes the lease of the bytes (`lease_slice`) before its next
wait.
"""

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.batch_lookup import Spot
from trio_kafka.log.files.operations import FileWork, ReadBytes, run_in_threads, run_now
from trio_kafka.log.index.aborted_transactions import AbortedTransactions
from trio_kafka.log.log import Log
from trio_kafka.log.segment import Segment
from trio_kafka.log.segments import Segments
from trio_kafka.records.file_range import FileRange
from trio_kafka.records.stored_header import iterate_stored_headers

T = TypeVar("T")


class FileSlice(NamedTuple):
    """Bytes of a segment's file that begin with the batch of `first_offset`.

    Valid until the next wait: the segment may be cut or removed then.
    aborted: aborted transactions that may have records or markers in these bytes; None unless they
        were searched.
    """

    segment: Segment
    position: int
    size: int
    first_offset: int
    aborted: AbortedTransactions | None = None

    def lease(self) -> FileRange:
        """Return the bytes as a part of an answer, which must be released. OSError, KafkaError."""
        file, position, size = self.segment.file, self.position, self.size
        return FileRange(file.lease(position + size), position, size)


def lease_slice(log: Log, file_slice: FileSlice) -> FileRange:
    """Lease bytes that were just found in a log, see `FileSlice.lease`. KafkaError, LogDirError."""
    try:
        return file_slice.lease()
    except OSError as error:
        log.fail(error)


# Two ways to search


def perform_now(log: Log, work: FileWork[T]) -> T:
    """Run a search without a wait. BlockingIOError: it would have to wait for the disk.

    Raises LogDirError, and the errors of `work`.
    """
    try:
        return run_now(work)
    except BlockingIOError:
        raise
    except OSError as error:
        log.fail(error)


async def perform_in_threads(log: Log, make: Callable[[], FileWork[T]]) -> T:
    """Run a search that may wait for the disk.

    Segments may be removed and positions change while a thread reads. The result or error is
    discarded then, and `make` begins the search again. So a result must not own anything. Raises
    KafkaError, LogDirError.
    """
    while True:
        generation = log.writer.generation
        if log.failed or log.closed:
            log.refuse()
        try:
            result = await run_in_threads(make())
        except OSError as error:
            if generation == log.writer.generation:
                log.fail(error)
        except KafkaError:
            if generation == log.writer.generation:
                raise
        else:
            if generation == log.writer.generation:
                return result


# Bytes


def lease_recent(log: Log, offset: int, max_bytes: int, *, end_offset: int) -> FileRange | None:
    """Lease what `find_slice` would find, if it is at the end of the log and its batch is recent.

    None: use `find_slice`. Nearly all reads end here; a generator would cost them 1 µs of 3.
    """
    segment = log.segments.active
    if end_offset < log.end_offset or not segment.base_offset <= offset < log.end_offset:
        return None
    first = segment.find_recent(offset)
    if first is None or offset < log.start_offset or log.failed or log.closed:
        return None
    position = first.position
    size = min(max_bytes, segment.size - position)
    if size < first.size:
        return None
    try:
        return FileRange(segment.file.lease(position + size), position, size)
    except OSError:
        return None  # `find_slice` fails with the reason


def find_slice(
    log: Log,
    offset: int,
    max_bytes: int,
    *,
    end_offset: int,
    at_least_one: bool = True,
    with_aborted: bool = False,
) -> FileWork[FileSlice | None]:
    """Find up to `max_bytes` from the batch that holds `offset`, below `end_offset`.

    with_aborted: find the aborted transactions in the bytes too; `end_offset` is the last stable
        offset then.

    No batch that ends at `end_offset` or later is included. The first batch is never cut short:
        with `at_least_one` it is included whole, whatever its size. The last one may be cut short
        by `max_bytes`, as in Kafka. If the rest of a segment's file is missing, the next segment
        follows, as in Kafka's LocalLog.
    Raises KafkaError(OFFSET_OUT_OF_RANGE), LogDirError.
    """
    if log.failed or log.closed:
        log.refuse()
    log_end = log.end_offset
    if not log.start_offset <= offset <= log_end:
        message = f"offset {offset}, want {log.start_offset} to {log_end}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, message)
    end_offset = min(end_offset, log_end)
    location = (yield from _first_batch(log, offset)) if offset < end_offset else None
    if location is None:
        return None
    segment, first, segment_end = location
    if first.last_offset >= segment_end:
        message = f"last offset {first.last_offset} in the batch at position {first.position}"
        segment.report("damaged batch in a segment file", message)
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, message)
    if first.last_offset >= end_offset:
        return None
    beyond = (yield from segment.find(end_offset)) if end_offset < segment_end else None
    limit = segment.size if beyond is None else beyond.position
    size = _size(first, limit, max_bytes, at_least_one=at_least_one)
    if not size:
        return None
    aborted = None
    if with_aborted:
        # Of the segment that was read, which may begin above `offset`. Source: LocalLog.read.
        begin, end = max(offset, segment.base_offset), min(end_offset, segment_end)
        if first.position + size < limit:
            end = min(end, (yield from segment.bound_behind(first.position + size, end)))
        aborted = yield from find_aborted(log.segments, begin, end)
    return FileSlice(segment, first.position, size, first.base_offset, aborted)


def _first_batch(log: Log, offset: int) -> FileWork[tuple[Segment, Spot, int] | None]:
    """Find the first batch that ends with `offset` or later, and the end of its segment."""
    segments = log.segments
    number = segments.floor(offset)
    while (segment := segments.at(number)) is not None:
        first = (yield from segment.find(offset)) if segment.measure() else None
        number += 1
        if first is not None:
            return segment, first, segments.end_of(number - 1, log.end_offset)
        after = segments.at(number)
        if after is None or log.config.compacts:
            continue
        if after.base_offset > log.compacted_until:
            message = f"no record at offset {offset} or later, want up to {after.base_offset - 1}"
            segment.report("records missing in a segment file", message)
    return None


def _size(first: Spot, limit: int, max_bytes: int, *, at_least_one: bool) -> int:
    """Return how many bytes to read from the first batch on, up to position `limit`; 0: none."""
    size = min(max_bytes, limit - first.position)
    if size >= first.size:
        return size
    return first.size if at_least_one else 0


async def read_bytes(
    log: Log, offset: int, max_bytes: int, *, end_offset: int | None = None
) -> bytes:
    """Copy whole batches, at least one, from the batch that holds `offset` on; b"" at the end.

    end_offset: as in `find_slice`; None: the end of the log.
    """

    def copy() -> FileWork[bytes]:
        end = log.end_offset if end_offset is None else end_offset
        file_slice = yield from find_slice(log, offset, max_bytes, end_offset=end)
        if file_slice is None:
            return b""
        file, size = file_slice.segment.file, file_slice.size
        content = yield ReadBytes(file, file_slice.position, size, size)
        return whole_batches(content)

    return await perform_in_threads(log, copy)


def whole_batches(content: memoryview) -> bytes:
    """Copy the batches that are complete in `content`."""
    end = 0
    for position, header in iterate_stored_headers(content):
        end = position + header.size
    return bytes(content[:end])


# Transactions


def find_aborted(segments: Segments, first: int, end: int) -> FileWork[AbortedTransactions]:
    """Find the aborted transactions with records or markers between `first` and `end` (exclusive).

    Searches from the segment of `first` on, as far as such transactions may reach.
    """
    transactions: AbortedTransactions | None = None
    number = segments.floor(first)
    while (segment := segments.at(number)) is not None:
        aborted, is_complete = yield from segment.transactions.between(first, end)
        if transactions is None:
            transactions = aborted  # nearly always all
        else:
            transactions.extend(aborted)
        if is_complete:
            break
        number += 1
    return AbortedTransactions() if transactions is None else transactions
