"""Batch headers of a segment file: whole batches, damage in words, the end of a file that grows.

The file may grow or shrink meanwhile: see `trio_kafka.log.scan.batches`.
"""

from collections.abc import Iterator

from trio_kafka.log.scan.batches import HEADERS, Batch, BatchScan, Damage, Gap, Piece, batches_of
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, checksum
from trio_kafka.world.blocking_file import FileReader


def header_scan(begin: int, end: int, least: int = 0) -> BatchScan:
    """Return a scan of the headers between two positions. least: smallest offset of the first."""
    return BatchScan(size=end, position=begin, least=least, messages=False, chunk=HEADERS)


def walk_headers(file: FileReader, begin: int, end: int, *, least: int = 0) -> Iterator[Piece]:
    """Yield each batch and each gap between two positions. CRCs are not compared. OSError."""
    return batches_of(file, header_scan(begin, end, least))


def reason_of(damage: Damage) -> str:
    """Return a description of the bytes that were found instead of a batch."""
    header = damage.header
    if damage.remaining < HEADER_SIZE:
        return f"{len(damage.head)} bytes, want a header of {HEADER_SIZE}"
    if not any(damage.head):
        return "zeros, want a batch"
    if header is None:
        return damage.problem.replace(" at position 0", "")
    if damage.least is not None and header.base_offset < damage.least:
        return f"offset {header.base_offset}, want at least {damage.least}"
    if header.last_offset_delta < 0:
        return (
            f"a batch that ends at offset {header.last_offset} and begins at {header.base_offset}"
        )
    return f"a batch of {header.size} bytes, {damage.remaining} are left"


def is_intact(file: FileReader, position: int, header: BatchHeader) -> bool:
    """Return whether the batch at `position` is all there and its CRC matches."""
    content = file.read(position, header.size)
    return len(content) == header.size and checksum(content, 0, header) == header.crc


def measure_end(file: FileReader, *, begin: int, least: int, size: int) -> tuple[int, int]:
    """Return (position, next offset) after the last whole batch of a segment that may grow.

    begin: where a batch begins; least: its smallest offset; size: bytes of the file. A batch whose
    CRC does not match, with reserved bytes behind it, is still being written and does not count.
    Damage that whole batches follow lies before the end: the reader reports it.
    """
    at, offset = begin, least
    last: Batch | None = None
    before = (at, offset)
    for piece in walk_headers(file, begin, size, least=least):
        if isinstance(piece, Gap):
            if piece.tail:
                break
            at = piece.end
        else:
            before, last = (piece.position, offset), piece
            at, offset = piece.position + piece.header.size, piece.header.next_offset
    if last is not None and at < size and not is_intact(file, last.position, last.header):
        return before
    return at, offset
