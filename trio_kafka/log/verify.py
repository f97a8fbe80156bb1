"""Read a segment from its beginning, as after a crash: where the whole batches end, and its indexes
anew.

A whole batch has a matching CRC, an offset not below the one before, and a leader epoch not below
the one before: what a lost truncation leaves behind a new tail is not taken for a part of it.
"""

from collections.abc import Callable
from typing import Final

from trio_kafka.errors import KafkaError
from trio_kafka.log.epochs import NO_EPOCH
from trio_kafka.log.scan import BULK
from trio_kafka.log.segment import Segment
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, check_crc, iterate_headers

See = Callable[[int, BatchHeader], None]
_NOTHING: Final = memoryview(b"")


class Checked:
    """What a check has found so far: offsets and epochs may not fall behind it."""

    __slots__ = ("end_offset", "epoch")

    def __init__(self, end_offset: int, epoch: int = NO_EPOCH) -> None:
        self.end_offset = end_offset
        self.epoch = epoch

    def accepts(self, header: BatchHeader) -> bool:
        return (
            header.base_offset >= self.end_offset
            and header.leader_epoch >= self.epoch
            and header.last_offset_delta >= 0
        )


async def check_segment(
    segment: Segment, checked: Checked, index_interval_bytes: int, see: See
) -> int:
    """Rebuild the indexes in memory and show every whole batch to `see`; where the last one ends.

    checked: brought up to date. Reads 256 KiB, or one batch, at a time. OSError.
    """
    segment.reset()
    file = segment.file
    position = 0
    size = BULK
    while position < file.size:
        buffer = bytearray(min(size, file.size - position))
        found = await file.read(position, buffer)
        view = memoryview(buffer)[:found]
        here = 0
        try:
            for at, header in iterate_headers(view):
                if not checked.accepts(header):
                    return position + here
                check_crc(view, at, header)
                segment.note(position + at, header, index_interval_bytes)
                see(position + at, header)
                checked.end_offset = header.next_offset
                checked.epoch = header.leader_epoch
                here = at + header.size
        except KafkaError:
            return position + here
        position += here
        size = BULK
        if not here:
            size = _size_of(view)
            if size <= found or position + size > file.size:
                return position
    return position


def _size_of(view: memoryview) -> int:
    """How large the batch is that begins here; 0: there is none."""
    if len(view) < HEADER_SIZE:
        return 0
    return int.from_bytes(view[8:12], "big", signed=True) + 12
