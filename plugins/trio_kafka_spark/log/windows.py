"""Read a piece as windows of whole batches, whatever happens to its file meanwhile.

A file that vanished, was replaced by compaction or was truncated is looked for again by offset:
renamed for deletion it is read on, and what compaction moved is read where it is now. Records that
are gone for good are skipped, or raise, as the caller wants.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.model import TopicPartition
from trio_kafka.log.scan.whole_batch_search import WholeBatchSearch
from trio_kafka_spark.client.errors import SourceError
from trio_kafka_spark.log.directories import list_segments
from trio_kafka_spark.log.splits import Piece, segment_pieces, with_aborted
from trio_kafka_spark.log.walk import (
    ShrunkError,
    find_whole,
    read_bytes,
    whole_batches,
)

DELETED: Final = ".deleted"
WHOLE_SEGMENT: Final = 1 << 62
_SEARCHES: Final = 5  # for records whose file vanished again and again


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
    segments = list_segments(Path(piece.path).parent)
    found: list[Piece] = []
    for segment in segments:
        after = segment.next_base
        if segment.base_offset < piece.stop and (after is None or after > start):
            try:
                found += segment_pieces(piece.at, segment, start, piece.stop, WHOLE_SEGMENT)
            except FileNotFoundError:
                continue
    lost = not found or found[-1].stop < piece.stop or segments[0].base_offset > start
    if fail_on_data_loss and lost:
        raise SourceError(
            "KAFKA_DATA_LOSS",
            f"offsets {start} to {piece.stop - 1} of {piece.at} were deleted while they were read "
            f"({piece.path}): read again, or set failOnDataLoss to false to skip what is gone",
        )
    shown_from = piece.shown_from if start == piece.start else start
    return [attrs.evolve(with_aborted(one, piece.aborted), shown_from=shown_from) for one in found]


def _windows(piece: Piece, size: int, on_bad: OnBad, *, check_crcs: bool) -> Iterator[Window]:
    file = _open(piece)
    try:
        at, least = piece.begin, piece.least
        wanted = 0
        search = WholeBatchSearch(piece.end)
        while at < piece.end and least < piece.stop:
            length = min(max(size, wanted), piece.end - at)
            data = read_bytes(file, at, length)
            if len(data) < length:
                raise ShrunkError(piece.path)
            whole = whole_batches(data, least, check_crcs=check_crcs)
            if whole.size and whole.next_offset > piece.start:
                yield Window(
                    piece=piece,
                    position=at,
                    least=least,
                    next_offset=whole.next_offset,
                    data=data[: whole.size] if whole.size < len(data) else data,
                )
            at, least = at + whole.size, whole.next_offset
            reason, wanted = whole.reason, whole.wanted
            if reason is None and wanted > piece.end - at:  # cut short by the end, not the window
                reason = f"{piece.end - at} bytes, want a batch of {wanted}"
            if reason is not None:
                resumed = find_whole(file, at + 1, least, search)
                after = piece.end if resumed is None else resumed
                bad = BadBytes(
                    at=piece.at, path=piece.path, position=at, size=after - at, reason=reason
                )
                on_bad(bad)
                at, wanted = after, 0
    finally:
        os.close(file)


def _open(piece: Piece) -> int:
    """Open the file that the piece was planned on. FileNotFoundError: there is another one now."""
    for name in (piece.path, piece.path + DELETED):
        try:
            file = os.open(name, os.O_RDONLY)
        except FileNotFoundError:
            continue
        if os.fstat(file).st_ino == piece.inode:
            return file
        os.close(file)
    raise FileNotFoundError(piece.path)
