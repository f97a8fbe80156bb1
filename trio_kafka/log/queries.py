"""What a log is asked: the bytes at an offset, offsets by time, aborted transactions.

Any number at a time. `read` never waits; the others wait for the disk where they must, and begin
anew where segments were cut or removed meanwhile.
"""

from collections.abc import Callable
from functools import partial
from typing import Final, TypeVar

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.index.transaction import AbortedTransaction
from trio_kafka.log.log import Log
from trio_kafka.log.read import Found, Place, find_aborted, find_place, lease, whole_batches
from trio_kafka.log.reading import Steps, Want, run_cold, run_warm
from trio_kafka.log.times import Candidate, TimedOffset, find_largest_time, find_time, first_record
from trio_kafka.log.unpacking import Unpacking
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.file_range import FileRange
from trio_kafka.scheduling.chunked_work import advance

T = TypeVar("T")
_SLICE_S: Final = 0.001
_WITHIN_S: Final = 10.0  # for one batch


def read(
    log: Log, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True
) -> Found:
    """The bytes from the batch that holds `offset`, up to `max_bytes` and below `end_offset`.

    Never a part of a first batch: with `at_least_one` it comes whole however large it is.
    The range must be released. Never waits: BlockingIOError says that headers or an index are
    cold, `locate` answers then. Raises KafkaError(OFFSET_OUT_OF_RANGE), LogDirError.
    """
    if log.failed or log.closed or not log.start_offset <= offset <= log.end_offset:
        _check_range(log, offset)
    segment = log.segments.active
    if offset >= segment.base_offset and offset < log.end_offset <= end_offset:  # nearly always
        spot = segment.find_recent(offset) or _warm(log, segment.find(offset))
        if spot is not None:
            position, first_size, first_offset, _ = spot
            file = segment.file
            size = min(max_bytes, file.size - position)
            if size < first_size:
                if not at_least_one:
                    return Found(None, 0, offset)
                size = first_size
            found = FileRange(file.lease(position + size), position, size)
            return Found(found, position, first_offset)
    place = _warm(log, _find_place(log, offset, max_bytes, end_offset, at_least_one))
    return lease(*place) if place else Found(None, 0, offset)


async def locate(
    log: Log, offset: int, max_bytes: int, end_offset: int, at_least_one: bool = True
) -> Found:
    """As `read`, waiting for the disk where it must."""
    place = await waiting(
        log, lambda: _find_place(log, offset, max_bytes, end_offset, at_least_one)
    )
    return lease(*place) if place else Found(None, 0, offset)


async def read_bytes(log: Log, offset: int, max_bytes: int, end_offset: int | None = None) -> bytes:
    """Whole batches from the one that holds `offset`, at least one, copied; b"" at the end.

    end_offset: as in `read`; None: the end of the log.
    """

    def copy() -> Steps[bytes]:
        end = log.end_offset if end_offset is None else end_offset
        place = yield from _find_place(log, offset, max_bytes, end, True)
        if place is None:
            return b""
        content = yield Want(place.file, place.position, place.size, place.size)
        return whole_batches(content)

    return await waiting(log, copy)


async def offset_for_timestamp(
    log: Log, timestamp_ms: int, unpacking: Unpacking
) -> TimedOffset | None:
    """The first record with this timestamp or a later one; None: there is none.

    Raises KafkaError as `waiting`; OFFSET_NOT_AVAILABLE while memory for large batches is taken.
    """
    offset = log.start_offset
    while True:
        start = max(offset, log.start_offset)
        candidate = await waiting(log, partial(find_time, log.segments, timestamp_ms, start))
        if candidate is None:
            return None
        found = await _look_into(log, candidate, timestamp_ms, start, unpacking)
        if found is not None:
            return found
        offset = candidate.header.next_offset  # the batch's own header may exaggerate


async def largest_timestamp(log: Log, unpacking: Unpacking) -> TimedOffset | None:
    """The first record with the largest timestamp; None: there is none."""
    best = await waiting(log, partial(find_largest_time, log.segments))
    if best is None:
        return None
    candidate, timestamp_ms = best
    return await _look_into(log, candidate, timestamp_ms, log.start_offset, unpacking)


async def _look_into(
    log: Log, candidate: Candidate, timestamp_ms: int, start_offset: int, unpacking: Unpacking
) -> TimedOffset | None:
    """The first record of a batch that is late enough. Others run after each millisecond.

    The caller is a request handler, of which there are few. So it neither waits in a line for the
    large buffer nor looks for long: OFFSET_NOT_AVAILABLE, which clients retry.
    """
    elapsed = log.world.clock.elapsed
    codec, block = candidate.header.codec, candidate.records
    try:
        with trio.fail_after(_WITHIN_S):
            async with unpacking.unpacked(codec, block, DECOMPRESSED_LIMIT, wait=False) as plain:
                steps = first_record(candidate, plain, timestamp_ms, start_offset)
                while True:
                    done = advance(steps, elapsed, elapsed() + _SLICE_S)
                    if done is not None:
                        return done.value
                    await trio.lowlevel.checkpoint()
    except (trio.WouldBlock, trio.TooSlowError):
        found = f"offset {candidate.header.base_offset}: the batch is large and others are unpacked"
        raise KafkaError(ErrorCode.OFFSET_NOT_AVAILABLE, found) from None


async def aborted_transactions(log: Log, first: int, end: int) -> list[AbortedTransaction]:
    """Those whose records or markers lie between `first` and `end` (exclusive)."""
    return await waiting(log, lambda: find_aborted(log.segments, first, end))


async def waiting(log: Log, make: Callable[[], Steps[T]]) -> T:
    """The result of the steps that `make` gives, begun anew where the log was cut meanwhile.

    Segments may be removed and positions move while a thread reads: what was found, and an
    error too, counts only if nothing was. KafkaError, LogDirError.
    """
    while True:
        cuts = log.cuts
        if log.failed or log.closed:
            log.refuse()
        try:
            result = await run_cold(make())
        except OSError as error:
            if cuts == log.cuts:
                log.fail(error)
        except KafkaError:
            if cuts == log.cuts:
                raise
        else:
            if cuts == log.cuts:
                return result


def _find_place(
    log: Log, offset: int, max_bytes: int, end_offset: int, at_least_one: bool
) -> Steps[Place | None]:
    _check_range(log, offset)
    return find_place(
        log.segments,
        offset,
        max_bytes,
        min(end_offset, log.end_offset),
        log.end_offset,
        at_least_one=at_least_one,
        gaps=log.config.compacts,
    )


def _check_range(log: Log, offset: int) -> None:
    if log.failed or log.closed:
        log.refuse()
    if not log.start_offset <= offset <= log.end_offset:
        found = f"offset {offset}, want {log.start_offset} to {log.end_offset}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, found)


def _warm(log: Log, steps: Steps[T]) -> T:
    try:
        return run_warm(steps)
    except BlockingIOError:
        raise
    except OSError as error:
        log.fail(error)
