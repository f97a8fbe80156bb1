"""Verification of a segment after a crash: find the end of its whole batches, rebuild its indexes.

A whole batch has a matching CRC, and neither an offset nor a leader epoch below the one before. So
remains of a lost truncation after a new tail are not taken for a part of it.
"""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.batch_scan import BULK
from trio_kafka.log.epochs import NO_EPOCH
from trio_kafka.log.files.operations import FileWork, Pause, ReadBytes, run_in_threads
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import HEADER_SIZE, BatchHeader
from trio_kafka.records.stored_header import check_stored_crc, iterate_stored_headers
from trio_kafka.records.whole_batch_search import Search, WholeBatchSearch
from trio_kafka.world.protocols import File

See = Callable[[int, BatchHeader], None]
_BATCHES: Final = 100  # checked between two pauses: about 1 ms


@define
class Checked:
    """Progress of a check: offsets and epochs may not fall below it.

    gapless: no offset may be missing, as this log is not compacted.
    producers: whether a batch of an idempotent producer was seen.
    """

    end_offset: int
    epoch: int = NO_EPOCH
    gapless: bool = field(default=False, kw_only=True)
    producers: bool = field(default=False, init=False)

    def note(self, header: BatchHeader) -> None:
        """Take over a whole batch."""
        self.end_offset = header.next_offset
        self.epoch = header.leader_epoch
        if header.producer_id >= 0:
            self.producers = True

    def take(self, other: "Checked") -> None:
        """Take over the progress of a check in another process."""
        self.end_offset, self.epoch = other.end_offset, other.epoch
        self.producers |= other.producers

    def accepts(self, header: BatchHeader) -> bool:
        return (
            header.base_offset >= self.end_offset
            and header.leader_epoch >= self.epoch
            and header.last_offset_delta >= 0
            and not (self.gapless and header.base_offset > self.end_offset)
        )


async def check_segment(
    segment: Segment, checked: Checked, index_interval_bytes: int, see: See, position: int = 0
) -> int:
    """Check a segment in threads, see `checking`. OSError."""
    return await run_in_threads(checking(segment, checked, index_interval_bytes, see, position))


def checking(
    segment: Segment, checked: Checked, index_interval_bytes: int, see: See, position: int = 0
) -> FileWork[int]:
    """Rebuild the indexes in memory and call `see` for every whole batch. Return where the last one
    ends.

    checked: updated. position: above 0, continue there with the existing indexes.
    Reads 256 KiB, or one batch, at a time. OSError.
    """
    if not position:
        segment.reset()
    file = segment.file
    size = BULK
    while position < file.size:
        wanted = min(size, file.size - position)
        view = yield ReadBytes(file, position, wanted, wanted)
        found = len(view)
        here = count = 0
        try:
            for at, header in iterate_stored_headers(view):
                if not checked.accepts(header) or not segment.reaches(header.last_offset):
                    return position + here
                check_stored_crc(view, at, header)
                segment.wrote(position + at, (header,), index_interval_bytes)
                see(position + at, header)
                checked.note(header)
                here = at + header.size
                count += 1
                if not count % _BATCHES:
                    yield Pause()
        except KafkaError:
            return position + here
        position += here
        size = BULK
        if not here:
            size = _size_of(view)
            if size <= found or position + size > file.size:
                return position
    return position


async def find_whole_batch(
    file: File,
    position: int,
    checked: Checked,
    *,
    search: WholeBatchSearch,
    most: int | None = None,
) -> int | None:
    """Find the first whole batch after damage at `position`; None: there is none.

    search: one for the file. most: bytes to search; None: all. Linear, see `WholeBatchSearch`.
    Other tasks run meanwhile. OSError.
    """
    # Offsets and epochs are outside of the CRC. In a gapless log they alone may be damaged.
    work = search.find(
        position,
        checked.end_offset,
        least_epoch=None if checked.gapless else checked.epoch,
        stop=None if most is None else position + most,
    )
    return await run_in_threads(_searching(file, work))


def _searching(file: File, search: Search) -> FileWork[int | None]:
    """Perform the reads of a search."""
    try:
        span = next(search)
        while True:
            view = yield ReadBytes(file, span.position, span.size, span.size)
            span = search.send(view)
    except StopIteration as stop:
        position: int | None = stop.value
        return position


def _size_of(view: memoryview) -> int:
    """Return the size of the batch that begins here; 0: there is none."""
    if len(view) < HEADER_SIZE:
        return 0
    return int.from_bytes(view[8:12], "big", signed=True) + 12
