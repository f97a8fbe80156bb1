"""Batches of a sealed segment, some at a time, checked by CRC and by their offsets."""

from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import KafkaError
from trio_kafka.log.cleaner.job import CleaningError, Compute, Work
from trio_kafka.log.cleaner.old_formats import MAGIC_AT, SMALLEST, is_old, read_old
from trio_kafka.log.cleaner.pace import Pace
from trio_kafka.log.files.names import LOG, offset_file
from trio_kafka.log.files.operations import OpenFile
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.compression import TooLargeError, decompress
from trio_kafka.records.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LENGTH_END,
    MAGIC,
    BatchHeader,
    check_crc,
    corrupt,
    read_header,
)
from trio_kafka.world.memory import new_buffer
from trio_kafka.world.protocols import Directory, File

PADDING: Final = 8  # readable bytes after the batches: `records.columnar` reads whole words
_LARGE: Final = 256 << 10  # a codec or a CRC over more bytes works in a thread
_SMALL_OUTPUT: Final = 256 << 10
_SMALL_INPUT: Final = 32 << 10
_BATCH_US: Final = 2.5


class Batch(NamedTuple):
    """A whole batch, or a message of an old format: its position in the file, its header, and its
    bytes, header included.
    """

    position: int
    header: BatchHeader
    data: memoryview

    @property
    def is_old(self) -> bool:
        """True for a message of format 0 or 1, which is never looked into."""
        return self.header.magic < MAGIC

    @property
    def block(self) -> memoryview:
        """The records, as they are stored."""
        return self.data[HEADER_SIZE:]


class ReadInto(NamedTuple):
    """Operation that reads into a buffer. The result is the number of bytes, 0 at the end."""

    file: File
    position: int
    buffer: memoryview

    def now(self) -> int:
        return self.file.try_read(self.position, self.buffer)

    async def in_thread(self) -> int:
        return await self.file.read(self.position, self.buffer)


@define(eq=False, kw_only=True)
class SegmentReader:
    """Reader of one segment file. path: in errors. The views of a chunk end with the next one."""

    path: str
    _file: File
    _base_offset: int
    _end_offset: int  # the base offset of the next segment
    _pace: Pace
    _buffer: memoryview
    _position: int = field(default=0, init=False)
    _next_offset: int = field(init=False)

    def __attrs_post_init__(self) -> None:
        self._next_offset = self._base_offset

    @classmethod
    def open(
        cls,
        directory: Directory,
        base_offset: int,
        end_offset: int,
        *,
        pace: Pace,
        buffer: memoryview,
    ) -> "Work[SegmentReader]":
        """Open a segment whose offsets are below `end_offset`. OSError."""
        name = offset_file(base_offset, LOG)
        file: File = yield OpenFile(directory, name)
        return cls(
            path=f"{directory.path}/{name}",
            file=file,
            base_offset=base_offset,
            end_offset=end_offset,
            pace=pace,
            buffer=buffer,
        )

    def close(self) -> None:
        self._file.close()

    def damaged(self, position: int, reason: str) -> CleaningError:
        return CleaningError(self.path, position, reason)

    def next_chunk(self, skip_below: int = 0) -> Work[list[Batch]]:
        """Read the next whole batches; none: the file has ended.

        skip_below: batches that end below this offset are neither checked by CRC nor returned. A
            chunk of such batches has none, and the next one is read.
        Raises CleaningError, OSError.
        """
        while self._position < self._file.size:
            view = yield from self._fill(len(self._buffer) - PADDING, self._buffer)
            size = self._size_of_first(view)
            if size > len(view):
                if size > self._file.size - self._position:
                    raise self.damaged(
                        self._position,
                        f"batch of {size} bytes, {self._file.size - self._position} are left",
                    )
                view = yield from self._fill(size, new_buffer(size + PADDING))
            batches = yield from self._parse(view, skip_below)
            if batches:
                return batches
        return []

    def _fill(self, size: int, buffer: memoryview) -> Work[memoryview]:
        """Read up to `size` bytes at the position, short only at the end of the file."""
        want = min(size, self._file.size - self._position)
        filled = 0
        while filled < want:
            count: int = yield ReadInto(self._file, self._position + filled, buffer[filled:want])
            if not count:
                raise self.damaged(self._position + filled, "the file is shorter than before")
            filled += count
        self._pace.moved += filled
        return buffer[:filled]

    def _size_of_first(self, view: memoryview) -> int:
        available = len(view)
        if available < SMALLEST or (available < HEADER_SIZE and not is_old(view, 0)):
            raise self.damaged(self._position, f"{available} bytes, want {HEADER_SIZE} of a header")
        return int.from_bytes(view[8:LENGTH_END], "big", signed=True) + LENGTH_END

    def _parse(self, view: memoryview, skip_below: int) -> Work[list[Batch]]:
        """Return the whole batches of a view, and go on after them."""
        batches: list[Batch] = []
        at, end = 0, len(view) - SMALLEST
        while at <= end:
            position = self._position + at
            try:
                header = _header_at(view, at)
                if header is None:
                    break
                size = header.length + LENGTH_END
                self._check_offsets(header, position)
                if self._next_offset > skip_below:
                    if header.magic == MAGIC and size <= _LARGE:
                        check_crc(view, at, header)
                    elif header.magic == MAGIC:
                        yield Compute(partial(check_crc, view, at, header))
                    batches.append(Batch(position, header, view[at : at + size]))
            except KafkaError as error:
                raise self.damaged(position, str(error.message)) from None
            at += size
            if self._pace.due(_BATCH_US):
                yield self._pace.pause()
        self._position += at
        return batches

    def _check_offsets(self, header: BatchHeader, position: int) -> None:
        """Compare offsets, which no CRC covers, with those of the neighbours; go on after them."""
        base = header.base_offset
        last = base + header.last_offset_delta
        if not self._next_offset <= base <= last < self._end_offset or header.count < 0:
            raise self.damaged(
                position,
                f"offsets {base} to {last} and {header.count} records, want offsets from"
                f" {self._next_offset} to {self._end_offset - 1}",
            )
        self._next_offset = last + 1


def _header_at(view: memoryview, at: int) -> BatchHeader | None:
    """Return the header of the batch at `at`; None: the view ends before it. KafkaError."""
    available = len(view) - at
    if view[at + MAGIC_AT] in (0, 1):
        if is_old(view, at):
            return read_old(view, at)
        raise corrupt(f"no batch at position {at}: its length is too small")
    if available < HEADER_SIZE:
        return None
    header = read_header(view, at)
    return header if header.length <= available - LENGTH_END else None


def unpack(batch: Batch) -> Work[bytes]:
    """Decompress the records of a batch. Raises KafkaError(CORRUPT_MESSAGE).

    Small ones at once, others in a thread, bounded as for consumers.
    """
    if not batch.header.attributes & CODEC_MASK:
        return bytes(batch.data[HEADER_SIZE:])
    codec, block = batch.header.codec, batch.block
    if len(block) <= _SMALL_INPUT:
        try:
            return decompress(codec, block, _SMALL_OUTPUT)
        except TooLargeError:
            pass
    plain: bytes = yield Compute(partial(decompress, codec, block, DECOMPRESSED_LIMIT))
    return plain


def total(batches: Sequence[Batch]) -> int:
    """Return the bytes of some batches."""
    return sum(len(batch.data) for batch in batches)
