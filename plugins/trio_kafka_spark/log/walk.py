"""Walk the batch headers of a segment file by pread: whole batches, damage, what follows damage.

The file may grow or shrink meanwhile, so nothing is mapped and each length is checked against the
bytes that were read. Memory is bounded by the window and the largest batch.
Source: record batch format of KIP-98.
"""

import os
from collections.abc import Iterator
from functools import partial
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.records.header import (
    HEADER_SIZE,
    BatchHeader,
    checksum,
    read_header,
)
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch, read_and_search

_HEADERS_READ: Final = 4096  # bytes at once, where only headers are wanted


@frozen(kw_only=True)
class Damage:
    """Bytes from `position` on that are no acceptable batch."""

    position: int
    reason: str


class DamageError(Exception):
    """A walk met damage; its last argument is the Damage."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(damage)
        self.damage = damage


class ShrunkError(Exception):
    """The file has become shorter than it was when the read was planned."""


def read_bytes(file: int, position: int, size: int) -> bytes:
    """Return `size` bytes of an open file, fewer at its end."""
    data = os.pread(file, size, position)
    if len(data) in (0, size):
        return data
    parts = [data]
    found = len(data)
    while found < size and (data := os.pread(file, size - found, position + found)):
        parts.append(data)
        found += len(data)
    return b"".join(parts)


def refusal(header: BatchHeader, least: int) -> str | None:
    """Return why a header cannot follow offset `least` - 1; None: it can."""
    if header.base_offset < least:
        return f"offset {header.base_offset}, want at least {least}"
    if header.last_offset_delta < 0:
        return (
            f"a batch that ends at offset {header.last_offset} and begins at {header.base_offset}"
        )
    return None


def walk_headers(
    file: int, begin: int, end: int, least: int = 0
) -> Iterator[tuple[int, BatchHeader]]:
    """Yield (position, header) of each whole batch between two positions.

    least: the smallest offset that the first batch may have. Raises DamageError.
    """
    at = begin
    chunk, chunk_at = b"", begin
    while at < end:
        if at + HEADER_SIZE > chunk_at + len(chunk):
            chunk, chunk_at = read_bytes(file, at, min(_HEADERS_READ, end - at)), at
        header = _header(chunk, at - chunk_at, at)
        problem = refusal(header, least)
        if problem is None and at + header.size > end:
            problem = f"a batch of {header.size} bytes, {end - at} are left"
        if problem is not None:
            raise DamageError(Damage(position=at, reason=problem))
        yield at, header
        at += header.size
        least = header.next_offset


def _header(data: bytes, index: int, position: int) -> BatchHeader:
    left = len(data) - index
    if left < HEADER_SIZE:
        reason = f"{left} bytes, want a header of {HEADER_SIZE}"
        raise DamageError(Damage(position=position, reason=reason))
    if not any(data[index : index + HEADER_SIZE]):
        raise DamageError(Damage(position=position, reason="zeros, want a batch"))
    try:
        return read_header(memoryview(data)[index : index + HEADER_SIZE])
    except KafkaError as error:
        reason = str(error.message).replace(" at position 0", "")
        raise DamageError(Damage(position=position, reason=reason)) from error


@frozen
class Whole:
    """The whole batches that some bytes begin with.

    size: their bytes. next_offset: the one after them. wanted: bytes of the batch that is cut
    short, 0 if none is. reason: why the bytes after them are no batch, None: they may be one.
    """

    size: int
    next_offset: int
    wanted: int
    reason: str | None


def whole_batches(data: bytes, least: int, *, check_crcs: bool) -> Whole:
    """Return how far whole batches reach in `data`, whose offsets begin with `least` or later."""
    view = memoryview(data)
    at, end = 0, len(data)
    while end - at >= HEADER_SIZE:
        try:
            header = _header(data, at, at)
        except DamageError as error:
            return Whole(at, least, 0, error.damage.reason)
        problem = refusal(header, least)
        if problem is not None:
            return Whole(at, least, 0, problem)
        if at + header.size > end:
            return Whole(at, least, header.size, None)
        if check_crcs and checksum(view, at, header) != header.crc:
            return Whole(at, least, 0, f"the CRC does not match, in a batch of {header.size} bytes")
        at += header.size
        least = header.next_offset
    return Whole(at, least, HEADER_SIZE if at < end else 0, None)


def find_whole(file: int, begin: int, least: int, search: WholeBatchSearch) -> int | None:
    """Return the position of the first whole batch from `begin` on; None: there is none.

    Whole: a CRC that matches, and an offset of `least` or later. search: one for all searches of
    the file, up to its end.
    """
    return read_and_search(search.find(begin, least), partial(read_bytes, file))


def is_intact(file: int, position: int, header: BatchHeader) -> bool:
    """Return whether the batch at `position` is all there and its CRC matches."""
    data = read_bytes(file, position, header.size)
    return len(data) == header.size and checksum(data, 0, header) == header.crc


def measure_end(file: int, begin: int, least: int, size: int) -> tuple[int, int]:
    """Return (position, next offset) after the last whole batch of a segment that may grow.

    begin: where a batch begins; least: its smallest offset; size: bytes of the file. A batch whose
    CRC does not match, with reserved bytes behind it, is still being written and does not count.
    Damage that whole batches follow lies before the end: the reader reports it.
    """
    at, offset = begin, least
    last: tuple[int, BatchHeader] | None = None
    before = (at, offset)
    search = WholeBatchSearch(size)
    while at < size:
        try:
            for position, header in walk_headers(file, at, size, offset):
                before = (position, offset)
                last = (position, header)
                at, offset = position + header.size, header.next_offset
        except DamageError as error:
            resumed = find_whole(file, error.damage.position + 1, offset, search)
            if resumed is None:
                break
            at = resumed
    if last is not None and at < size and not is_intact(file, *last):
        return before
    return at, offset
