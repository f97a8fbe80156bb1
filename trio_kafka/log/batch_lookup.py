"""Lookup of a batch by offset in a segment's file. Records are not read.

An invalid header raises KafkaError(CORRUPT_MESSAGE) with file and position.
"""

from typing import Final, NamedTuple

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.files.operations import FileWork, ReadBytes
from trio_kafka.log.index.entries import CorruptIndexError
from trio_kafka.records.header import (
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    SMALLEST_LENGTH,
)
from trio_kafka.records.stored_header import (
    SMALLEST_STORED,
    is_legacy,
    iterate_stored_headers,
    message_fits,
)
from trio_kafka.world.protocols import File

_CHUNK: Final = 4096 + HEADER_SIZE


class Spot(NamedTuple):
    """Position and offsets of a batch."""

    position: int
    size: int
    base_offset: int
    last_offset: int


class CutBatchError(Exception):
    """Raised for a file that ends within a batch of `size` bytes at `position`."""

    def __init__(self, position: int, size: int) -> None:
        super().__init__(f"the file ends within the batch of {size} bytes at {position}")
        self.position = position
        self.size = size


def find_batch(file: File, position: int, offset: int) -> FileWork[Spot | None]:
    """Find the first batch from `position` on that ends with `offset` or later; None: no such
    batch.

    position: 0, or the position of a batch that begins with `offset` or before; otherwise
        CorruptIndexError.
    Raises CutBatchError if the file ends within that batch, KafkaError(CORRUPT_MESSAGE).
    """
    unpack = HEADER.unpack_from
    end = file.size
    unsure = position > 0
    while position + SMALLEST_STORED <= end:
        need = min(HEADER_SIZE, end - position)
        view = yield ReadBytes(file, position, need, min(_CHUNK, end - position))
        start, at = position, 0
        while at + HEADER_SIZE <= len(view):
            base, length, _, magic, _, _, delta, *_ = unpack(view, at)
            whole = magic == 2 and length >= SMALLEST_LENGTH
            if not whole and is_legacy(magic):
                delta, whole = 0, message_fits(view, at)
            if unsure and (base > offset or not whole):
                raise CorruptIndexError(f"no batch for offset {offset} at position {position}")
            if not whole:
                raise _corrupt(position)
            unsure = False
            if base + delta >= offset:
                if position + length + LENGTH_END > end:
                    raise CutBatchError(position, length + LENGTH_END)
                return Spot(position, length + LENGTH_END, base, base + delta)
            at += length + LENGTH_END
            position = start + at
        if position == start:  # less than a header is left: one more message, or a torn batch
            return _last_message(view, position, offset)
    return None


def _last_message(view: memoryview, position: int, offset: int) -> Spot | None:
    """Return the short message at the end of a file if it ends with `offset` or later."""
    for _, header in iterate_stored_headers(view):
        if header.last_offset >= offset:
            return Spot(position, header.size, header.base_offset, header.last_offset)
    return None


def _corrupt(position: int) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, f"no batch at position {position}")
