"""Scans in the broker: their reads as file operations, in the loop, in threads or in a worker."""

from collections.abc import Callable
from typing import Final

from trio_kafka.log.files.operations import FileWork, Pause, ReadBytes
from trio_kafka.log.scan.batches import Batch, BatchScan
from trio_kafka.log.scan.whole_batch_search import Search, Span
from trio_kafka.records.header import HEADER_SIZE, LENGTH_END, BatchHeader
from trio_kafka.world.protocols import File

BULK: Final = 256 * 1024
STOP: Final = object()  # returned by the function of a walk
_CHUNK: Final = 4096 + HEADER_SIZE


def walk(
    file: File,
    position: int,
    see: Callable[[int, BatchHeader], object],
    *,
    end: int | None = None,
    chunk: int = _CHUNK,
) -> FileWork[int]:
    """Call `see(position, header)` for each whole batch from `position` on. Return where they end.

    see: returns STOP to end the walk with its batch.
    end: stop before a batch that begins there or later. chunk: bytes in one read; BULK for long
        scans.
    """
    scan = BatchScan(size=file.size, position=position, end=end, resumes=False, chunk=chunk)
    return (yield from walking(file, scan, see))


def walking(
    file: File,
    scan: BatchScan,
    see: Callable[[int, BatchHeader], object],
    *,
    pause_every: int = 0,
) -> FileWork[int]:
    """Perform a scan. Call `see(position, header)` for each batch. Return where they end.

    see: returns STOP to end the walk before its batch. pause_every: batches between two pauses, in
    which other tasks run; 0: there is none.
    """
    steps = scan.steps()
    step = next(steps, None)
    position = scan.position
    count = 0
    while step is not None:
        if type(step) is Batch:
            position, header, _ = step
            if see(position, header) is STOP:
                return position
            position += header.length + LENGTH_END
            count += 1
            if count == pause_every:
                count = 0
                yield Pause()
            step = next(steps, None)
        elif type(step) is Span:
            view = yield ReadBytes(file, step.position, step.need or step.size, step.size)
            step = steps.send(view)
        else:
            step = next(steps, None)
    return position


def searching(file: File, search: Search) -> FileWork[int | None]:
    """Perform the reads of a search."""
    try:
        span = next(search)
        while True:
            view = yield ReadBytes(file, span.position, span.size, span.size)
            span = search.send(view)
    except StopIteration as stop:
        position: int | None = stop.value
        return position
