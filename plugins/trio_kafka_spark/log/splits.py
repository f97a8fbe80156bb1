"""Divide segments into pieces that tasks read independently.

A piece begins and ends where a batch does. Places come from the offset index, where an entry is
confirmed by the header it points to; without a usable index the headers are walked. The end of an
active segment is measured once, so a task that runs again reads the same records.
"""

from collections.abc import Iterable, Iterator
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from typing import Final

import attrs

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.log.files.names import INDEX, LOG
from trio_kafka.log.scan.batches import HEADERS, Batch
from trio_kafka.log.scan.index_files import OFFSET_ENTRY, entries_of, remainder
from trio_kafka.model import TopicPartition
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, read_header
from trio_kafka.world.blocking_file import FileReader, open_reader
from trio_kafka_spark.log.directories import PartitionDirectory, SegmentFile
from trio_kafka_spark.log.walk import measure_end, walk_headers

OPEN_COST: Final = 64 << 10  # bytes that opening one more file counts for


@frozen(kw_only=True)
class Piece:
    """Bytes [begin, end) of a segment file, and the offsets [start, stop) that are read of them.

    inode: the file that these positions were found in. least: the smallest offset that its first
    batch may have. shown_from: batches that begin below it belong to the piece before. active: the
    end was measured in a segment that may grow. aborted: (producer id, first offset, offset of the
    marker) of aborted transactions in it.
    """

    at: TopicPartition
    path: str
    inode: int
    begin: int
    end: int
    least: int
    shown_from: int
    start: int
    stop: int
    active: bool
    aborted: tuple[tuple[int, int, int], ...] = ()

    @property
    def size(self) -> int:
        return self.end - self.begin


@frozen(kw_only=True)
class _Cut:
    """A batch that begins at `position` with `offset`."""

    position: int
    offset: int


@frozen(kw_only=True)
class Layout:
    """Cuts of one segment file, in ascending order, and where its batches end."""

    cuts: tuple[_Cut, ...]
    end: int
    next_offset: int


def partition_pieces(
    partition: PartitionDirectory, *, start: int, stop: int, split_bytes: int
) -> Iterator[Piece]:
    """Yield the pieces of a partition that hold offsets [start, stop), in order."""
    for segment in partition.segments:
        if segment.base_offset >= stop:
            return
        if segment.next_base is not None and segment.next_base <= start:
            continue
        try:
            yield from segment_pieces(
                partition.at, segment, start=start, stop=stop, split_bytes=split_bytes
            )
        except FileNotFoundError:  # deleted since it was listed, or its records moved elsewhere
            if segment.next_base is not None and segment.size:
                yield _as_listed(partition.at, segment, start=start, stop=stop)


def _as_listed(at: TopicPartition, segment: SegmentFile, *, start: int, stop: int) -> Piece:
    """Return the piece of a segment whose file is gone: its reader searches for the offsets."""
    next_base = stop if segment.next_base is None else segment.next_base
    return Piece(
        at=at,
        path=segment.path,
        inode=segment.inode,
        begin=0,
        end=segment.size,
        least=segment.base_offset,
        shown_from=segment.base_offset,
        start=max(start, segment.base_offset),
        stop=min(stop, next_base),
        active=False,
    )


def segment_pieces(
    at: TopicPartition, segment: SegmentFile, *, start: int, stop: int, split_bytes: int
) -> list[Piece]:
    """Return the pieces of one segment. Raises OSError, FileNotFoundError if it vanished."""
    layout = measure(segment, split_bytes)
    limit = min(stop, layout.next_offset)
    cuts = [_Cut(position=0, offset=segment.base_offset), *layout.cuts]
    ends = [*layout.cuts, _Cut(position=layout.end, offset=layout.next_offset)]
    pieces = []
    for begin, end in zip(cuts, ends, strict=True):
        if end.position <= begin.position or end.offset <= start or begin.offset >= limit:
            continue
        pieces.append(
            Piece(
                at=at,
                path=segment.path,
                inode=segment.inode,
                begin=begin.position,
                end=end.position,
                least=begin.offset,
                shown_from=begin.offset,
                start=max(start, begin.offset),
                stop=min(limit, end.offset),
                active=segment.is_active and end is ends[-1],
            )
        )
    return pieces


def measure(segment: SegmentFile, split_bytes: int) -> Layout:
    """Return cuts at least `split_bytes` apart, and the end of the batches. Raises OSError."""
    with open_reader(segment.path, HEADERS) as file:
        indexed = indexed_cuts(file, segment, split_bytes)
        last = indexed[-1] if indexed else _Cut(position=0, offset=segment.base_offset)
        if segment.next_base is not None:
            cuts = indexed
            if segment.size - last.position > 2 * split_bytes:
                cuts = [
                    *indexed,
                    *_walked_cuts(file, begin=last, end=segment.size, split_bytes=split_bytes),
                ]
            return Layout(cuts=tuple(cuts), end=segment.size, next_offset=segment.next_base)
        end, next_offset = measure_end(file, begin=last.position, least=last.offset, size=file.size)
        walked = _walked_cuts(file, begin=last, end=end, split_bytes=split_bytes)
        return Layout(cuts=(*indexed, *walked), end=end, next_offset=next_offset)


def index_entries(path: Path) -> Iterator[tuple[int, ...]]:
    """Yield (relative offset, position) of an offset index, up to zeros that fill the file.

    Yields nothing if the file is absent or its size is not a multiple of an entry's.
    """
    try:
        with open_reader(path) as file:
            if not remainder(file, OFFSET_ENTRY):  # no entry points to the first batch
                yield from takewhile(itemgetter(1), entries_of(file, OFFSET_ENTRY))
    except OSError:
        return


def indexed_cuts(file: FileReader, segment: SegmentFile, split_bytes: int) -> list[_Cut]:
    """Return cuts from the offset index; all of them are dropped if one is wrong."""
    index = Path(segment.path.removesuffix(LOG) + INDEX)
    cuts: list[_Cut] = []
    next_cut = split_bytes
    for relative, position in index_entries(index):
        if position < next_cut:
            continue
        header = header_at(file, position)
        if header is None or header.last_offset != segment.base_offset + relative:
            return []
        cuts.append(_Cut(position=position, offset=header.base_offset))
        next_cut = position + split_bytes
    return cuts


def header_at(file: FileReader, position: int) -> BatchHeader | None:
    """Return the header at a position; None: there is none."""
    try:
        return read_header(file.read(position, HEADER_SIZE))
    except KafkaError:
        return None


def _walked_cuts(file: FileReader, *, begin: _Cut, end: int, split_bytes: int) -> list[_Cut]:
    """Return cuts between two positions, from the headers; damage is stepped over."""
    cuts: list[_Cut] = []
    following = begin.position + split_bytes
    for piece in walk_headers(file, begin.position, end, least=begin.offset):
        if isinstance(piece, Batch) and piece.position >= following:
            cuts.append(_Cut(position=piece.position, offset=piece.header.base_offset))
            following = piece.position + split_bytes
    return cuts


def packed(pieces: Iterable[Piece], split_bytes: int) -> list[tuple[Piece, ...]]:
    """Put pieces together, in order, so that small segments share a task."""
    packs: list[tuple[Piece, ...]] = []
    pack: list[Piece] = []
    size = 0
    for piece in pieces:
        cost = piece.size + OPEN_COST
        if pack and size + cost > split_bytes + OPEN_COST:
            packs.append(tuple(pack))
            pack, size = [], 0
        pack.append(piece)
        size += cost
    if pack:
        packs.append(tuple(pack))
    return packs


def with_aborted(piece: Piece, aborted: Iterable[tuple[int, int, int]]) -> Piece:
    """Return the piece with those aborted transactions that have records in it."""
    inside = tuple(
        transaction
        for transaction in sorted(aborted, key=lambda transaction: transaction[1])
        if transaction[1] < piece.stop and transaction[2] >= piece.start
    )
    return attrs.evolve(piece, aborted=inside)
