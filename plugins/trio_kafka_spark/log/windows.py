"""Read a piece as windows of whole batches, whatever happens to its file meanwhile.

A file that vanished, was replaced by compaction or was truncated is looked for again by offset:
renamed for deletion it is read on, and what compaction moved is read where it is now. Records that
are gone for good are skipped, or raise, as the caller wants.
"""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.log.scan.batches import Batch, BatchScan, Damage, Gap
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import HEADER_SIZE
from trio_kafka.world.blocking_file import FileReader
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.log.directories import PartitionDirectory, list_segments
from trio_kafka_spark.log.splits import Piece, partition_pieces, with_aborted
from trio_kafka_spark.log.walk import reason_of

DELETED: Final = ".deleted"
WHOLE_SEGMENT: Final = 1 << 62
_SEARCHES: Final = 5  # for records whose file vanished again and again


class ShrunkError(Exception):
    """The file has become shorter than it was when the read was planned."""


@frozen(kw_only=True)
class Window:
    """Whole batches at `position` of a file. least: the smallest offset the first may have."""

    piece: Piece
    position: int
    least: int
    next_offset: int
    data: bytes


@frozen(kw_only=True)
class BadBytes:
    """A place of a segment file that has no readable batch, and how many bytes are skipped."""

    at: TopicPartition
    path: str
    position: int
    size: int
    reason: str

    def __str__(self) -> str:
        return f"{self.path} position {self.position}: {self.reason}"


# Called with each bad place; reading continues behind it unless this raises.
OnBad = Callable[[BadBytes], None]


def read_windows(
    piece: Piece,
    size: int,
    on_bad: OnBad,
    *,
    check_crcs: bool = True,
    fail_on_data_loss: bool = False,
) -> Iterator[Window]:
    """Yield the batches of a piece, about `size` bytes at a time.

    check_crcs: a batch whose CRC does not match counts as damage.
    Raises what `on_bad` raises; SourceError(KAFKA_DATA_LOSS) for records that are gone, if asked;
    OSError.
    """
    todo = [piece]
    searches = 0
    while todo:
        current = todo.pop(0)
        reached = current.start
        try:
            for window in _windows(current, size, on_bad, check_crcs=check_crcs):
                yield window
                reached = max(reached, window.next_offset)
        except (FileNotFoundError, ShrunkError):
            searches += 1
            if searches > _SEARCHES:
                raise SourceError(
                    "KAFKA_DATA_LOSS",
                    f"{current.path} changed {searches} times while it was read: read again when "
                    "fewer segments are deleted or compacted",
                ) from None
            todo[:0] = _searched(current, reached, fail_on_data_loss=fail_on_data_loss)


def _searched(piece: Piece, start: int, *, fail_on_data_loss: bool) -> list[Piece]:
    """Return pieces, as they are now, with the offsets of `piece` from `start` on."""
    if start >= piece.stop:
        return []
    directory = Path(piece.path).parent
    segments = list_segments(directory)
    partition = PartitionDirectory(
        at=piece.at, path=str(directory), start_offset=start, segments=tuple(segments)
    )
    pieces = list(
        partition_pieces(partition, start=start, stop=piece.stop, split_bytes=WHOLE_SEGMENT)
    )
    lost = not pieces or pieces[-1].stop < piece.stop or segments[0].base_offset > start
    if fail_on_data_loss and lost:
        raise SourceError(
            "KAFKA_DATA_LOSS",
            f"offsets {start} to {piece.stop - 1} of {piece.at} were deleted while they were read "
            f"({piece.path}): read again, or set failOnDataLoss to false to skip what is gone",
        )
    shown_from = piece.shown_from if start == piece.start else start
    return [
        attrs.evolve(with_aborted(part, piece.aborted), shown_from=shown_from) for part in pieces
    ]


def _windows(piece: Piece, size: int, on_bad: OnBad, *, check_crcs: bool) -> Iterator[Window]:
    """Scan a piece. The batches of one read make a window, which the next read or a gap ends."""
    scan = BatchScan(
        size=piece.end,
        position=piece.begin,
        least=piece.least,
        messages=False,
        crcs=check_crcs,
        matching=True,
        whole=True,
        chunk=size,
    )
    with opened(piece) as file:
        steps = scan.steps()
        view, view_at = memoryview(b""), piece.begin
        begin = end = piece.begin
        least = next_offset = piece.least
        step = next(steps, None)
        while step is not None or end > begin:
            if isinstance(step, Batch):
                end, next_offset = end + step.header.size, step.header.next_offset
                step = next(steps, None)
                continue
            if end > begin and next_offset > piece.start:
                yield Window(
                    piece=piece,
                    position=begin,
                    least=least,
                    next_offset=next_offset,
                    data=bytes(view[begin - view_at : end - view_at]),
                )
            begin, least = end, next_offset
            if isinstance(step, Gap):
                on_bad(bad_bytes(piece, step, _reason(step.damage)))
                begin = end = step.end
                step = next(steps, None)
            elif step is not None:
                # Behind the last offset only damage that was read in part is looked at.
                is_cut = end < view_at + len(view) and piece.end - end < HEADER_SIZE
                if step.position == end and next_offset >= piece.stop and not is_cut:
                    return
                view, view_at = file.read(step.position, step.size), step.position
                if len(view) < step.size:
                    raise ShrunkError(piece.path)
                step = steps.send(view)


def bad_bytes(piece: Piece, gap: Gap, reason: str) -> BadBytes:
    """Return a gap as a place of the piece's file."""
    return BadBytes(
        at=piece.at,
        path=piece.path,
        position=gap.position,
        size=gap.end - gap.position,
        reason=reason,
    )


def _reason(damage: Damage) -> str:
    """Return a description of the bytes that were found instead of a whole batch."""
    header, size = damage.header, damage.remaining
    if size < HEADER_SIZE:
        return f"{size} bytes, want a batch of {HEADER_SIZE}"
    if header is None or header.last_offset_delta < 0 or header.base_offset < (damage.least or 0):
        return reason_of(damage)
    if header.size > size:
        return f"{size} bytes, want a batch of {header.size}"
    return f"the CRC does not match, in a batch of {header.size} bytes"


@contextmanager
def opened(piece: Piece, chunk: int = 0) -> Iterator[FileReader]:
    """Open the file that the piece was planned on. FileNotFoundError: there is another one now.

    chunk: bytes that are read at least; 0: what is there now, as the file may be cut.
    """
    for name in (piece.path, piece.path + DELETED):
        try:
            descriptor = os.open(name, os.O_RDONLY)
        except FileNotFoundError:
            continue
        try:
            file = FileReader(descriptor, chunk)
            if file.inode == piece.inode:
                yield file
                return
        finally:
            os.close(descriptor)
    raise FileNotFoundError(piece.path)
