"""Verification of a segment after a crash: find the end of its whole batches, rebuild its indexes.

A whole batch has a matching CRC, and neither an offset nor a leader epoch below the one before. So
remains of a lost truncation after a new tail are not taken for a part of it.
"""

from collections.abc import Callable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.batch_scan import BULK
from trio_kafka.log.epochs import NO_EPOCH
from trio_kafka.log.files.operations import FileWork, Pause, ReadBytes, run_in_threads
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import (
    HEADER_SIZE,
    BatchHeader,
    check_crc,
    read_header,
)
from trio_kafka.records.stored_header import check_stored_crc, iterate_stored_headers
from trio_kafka.world.protocols import File

See = Callable[[int, BatchHeader], None]
SCANNED: Final = 1 << 20
_BATCHES: Final = 100  # checked between two pauses: about 1 ms
_LOOKED: Final = 256  # possible headers between two checkpoints: about 1 ms
_LARGEST_GAP: Final = 1 << 31  # offsets
_MAGIC_AT: Final = 16
_MAGIC: Final = b"\x02"


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

    def resumes(self, header: BatchHeader) -> bool:
        """Return whether this may be a batch after damage.

        Offsets and epochs are outside of the CRC. In a gapless log they alone may be damaged.
        """
        if self.gapless:
            return header.base_offset >= self.end_offset and header.last_offset_delta >= 0
        return self.accepts(header)


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
    file: File, position: int, checked: Checked, most: int | None = None
) -> int | None:
    """Find the first whole batch after damage at `position`; None: there is none.

    most: bytes to search; None: all. Other tasks run after each `SCANNED` bytes. OSError.
    """
    end = file.size if most is None else min(file.size, position + most)
    while position + HEADER_SIZE <= end:
        view = memoryview(bytearray(min(SCANNED, end - position)))
        view = view[: await file.read(position, view)]
        content = bytes(view)
        last = len(content) - HEADER_SIZE
        if last < 0:
            return None
        looked = 0
        at = content.find(_MAGIC, _MAGIC_AT) - _MAGIC_AT
        while 0 <= at <= last:
            if await _is_whole(file, position + at, content[at : at + HEADER_SIZE], checked):
                return position + at
            looked += 1
            if not looked % _LOOKED:
                await trio.lowlevel.checkpoint()
            at = content.find(_MAGIC, at + _MAGIC_AT + 1) - _MAGIC_AT
        position += last + 1
    return None


async def _is_whole(file: File, position: int, head: bytes, checked: Checked) -> bool:
    """Return whether an acceptable batch with a matching CRC begins there. OSError."""
    try:
        header = read_header(head, 0)
    except KafkaError:
        return False
    size = header.size
    if position + size > file.size or not checked.resumes(header):
        return False
    if header.base_offset - checked.end_offset > _LARGEST_GAP:
        return False
    content = bytearray(size)
    found = memoryview(content)[: await file.read(position, content)]
    try:
        check_crc(found, 0, header)
    except KafkaError:
        return False
    return True


def _size_of(view: memoryview) -> int:
    """Return the size of the batch that begins here; 0: there is none."""
    if len(view) < HEADER_SIZE:
        return 0
    return int.from_bytes(view[8:12], "big", signed=True) + 12
