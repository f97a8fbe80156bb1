"""Windows of some MiB with the decompressed records of consecutive batches.

If no batch is compressed a window is a part of the buffer: nothing is copied, and only the checksum
    costs a Python step for each batch (at 1 KiB a record, a third of a decoder's time). Otherwise
    batches are decompressed into one scratch buffer, which all windows share. A window holds at
    least one batch, and its positions fit into Arrow's offsets of 32 bits.
"""

from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np
import pyarrow as pa
from attrs import field
from crc32c import crc32c
from numpy.typing import NDArray

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import read_records
from trio_kafka.records.columnar.errors import CorruptBatchError, corrupt_batch
from trio_kafka.records.columnar.varints import Bytes, Longs
from trio_kafka.records.compression import Codec, TooLargeError, decompress_into
from trio_kafka.records.header import (
    CODEC_MASK,
    CONTROL,
    CRC_FROM,
    HEADER_SIZE,
    LENGTH_END,
    BatchHeader,
    check_crc,
    corrupt,
    read_header,
)
from trio_kafka.world.protocols import Buffer

# Enough batches of 16 KiB for long vectors, and few enough for the CPU's cache.
WINDOW: Final = 8 << 20
_LARGEST: Final = 1 << 30  # bytes that uncompressed batches may span: Arrow's offsets have 31 bits
_SMALLEST_RECORD: Final = 7
_FIRST_GUESS: Final = 64 << 10
_GROWTH: Final = 4


@frozen(kw_only=True)
class Window:
    """Records of some batches in one piece of memory, valid until the next window.

    batches: their numbers in the walk. begin, end: of each batch's records in `data`.
    """

    data: Bytes
    arrow: pa.Buffer  # the same memory
    batches: NDArray[np.intp]
    begin: Longs
    end: Longs

    def part(self, first: int, last: int) -> "Window":
        """Return the window of its batches from `first` up to `last` (exclusive)."""
        return Window(
            data=self.data,
            arrow=self.arrow,
            batches=self.batches[first:last],
            begin=self.begin[first:last],
            end=self.end[first:last],
        )


@frozen(kw_only=True)
class Source:
    """Batches of a buffer, and how to treat them.

    positions, headers: of all batches. limit: bytes of the decompressed records of one batch. size:
        of a window.
    """

    data: memoryview
    positions: Sequence[int]
    headers: NDArray[np.void]
    check_crcs: bool
    limit: int
    size: int = WINDOW

    def windows(self, mask: NDArray[np.bool_]) -> Iterator[Window]:
        """Yield windows with the wanted batches, without control batches and empty ones.

        The latter are only checked. Raises CorruptBatchError at the first invalid batch, after the
        windows before it.
        """
        picked = np.flatnonzero(mask)
        if (self.headers["attributes"][picked] & CODEC_MASK).any():
            yield from self._filled(picked)
        else:
            yield from self._laid(picked)

    def _laid(self, picked: NDArray[np.intp]) -> Iterator[Window]:
        """Lay windows over plain batches."""
        heads = self.headers[picked]
        begin = np.array(self.positions, np.int64)[picked]
        end = begin + heads["length"] + LENGTH_END
        count = heads["count"].astype(np.int64)
        begin += HEADER_SIZE
        data_batches = (heads["attributes"] & CONTROL) == 0
        odd = data_batches & ((count <= 0) | (count * _SMALLEST_RECORD > end - begin))
        holds = data_batches & (count > 0)
        first = 0
        while first < len(picked):
            last = max(first + 1, int(np.searchsorted(begin, begin[first] + self.size)))
            if last > first + 1 and int(end[last - 1] - begin[first]) > _LARGEST:
                last -= 1
            rows = slice(first, last)
            sound, error = self._first_lie(
                begin[rows], end[rows], heads["crc"][rows], odd=odd[rows]
            )
            full = first + np.flatnonzero(holds[first : first + sound])
            if full.size:
                low, high = int(begin[full[0]]), int(end[full[-1]])
                yield _window(
                    self.data[low:high], picked[full], begin[full] - low, end=end[full] - low
                )
            if error is not None:
                raise error
            first = last

    def _first_lie(
        self, begin: Longs, end: Longs, crcs: NDArray[np.uint32], *, odd: NDArray[np.bool_]
    ) -> tuple[int, CorruptBatchError | None]:
        """Return how many batches are valid before the first invalid one, and its error."""
        data = self.data
        suspects = odd
        if self.check_crcs:
            skipped = HEADER_SIZE - CRC_FROM
            bounds = zip((begin - skipped).tolist(), end.tolist(), strict=True)
            suspects = suspects | (np.array([crc32c(data[b:e]) for b, e in bounds]) != crcs)
        for index in np.flatnonzero(suspects).tolist():
            position = int(begin[index]) - HEADER_SIZE
            try:
                self._check(position)
            except KafkaError as error:
                return index, corrupt_batch(error, position)
        return len(suspects), None

    def _check(self, position: int) -> BatchHeader:
        """Check a batch singly: its checksum, and its content if it claims to be empty."""
        header = read_header(self.data, position)
        if self.check_crcs:
            check_crc(self.data, position, header)
        room = header.size - HEADER_SIZE
        too_many = not header.codec and header.count * _SMALLEST_RECORD > room
        if not header.is_control and (header.count <= 0 or too_many):
            for _ in read_records(self.data, position, header, limit=self.limit):
                pass
        return header

    def _filled(self, picked: NDArray[np.intp]) -> Iterator[Window]:
        """Fill windows with the decompressed records of batches."""
        packed = int(self.headers["length"][picked].astype(np.int64).sum())
        scratch = _Scratch(
            memory=bytearray(min(self.size, max(_FIRST_GUESS, 2 * _GROWTH * packed)))
        )
        for index in picked.tolist():
            position = self.positions[index]
            try:
                header = self._check(position)
                if header.is_control or not header.count:
                    continue
                block = self.data[position + HEADER_SIZE : position + header.size]
                if scratch.is_tight:
                    yield from scratch.flush()
                while not scratch.add(index, header, block, limit=self.limit):
                    yield from scratch.flush()
            except KafkaError as error:
                yield from scratch.flush()
                raise corrupt_batch(error, position) from None
        yield from scratch.flush()


@define(kw_only=True)
class _Scratch:
    """Window that is being filled with decompressed batches."""

    _memory: bytearray
    _batches: list[int] = field(factory=list)
    _ends: list[int] = field(factory=list)
    _largest: int = 0

    @property
    def _used(self) -> int:
        return self._ends[-1] if self._ends else 0

    @property
    def is_tight(self) -> bool:
        """True if a batch like those before may not fit."""
        return self._used + self._largest > len(self._memory)

    def add(self, index: int, header: BatchHeader, block: memoryview, *, limit: int) -> bool:
        """Decompress a batch. False: the window is full; an empty one grows up to `limit`."""
        codec = header.codec
        if codec is Codec.NONE:
            limit = max(limit, len(block))
        while True:
            room = memoryview(self._memory)[self._used : self._used + limit]
            try:
                size = decompress_into(codec, block, room)
                break
            except TooLargeError:
                if len(room) == limit:
                    raise
            if self._batches:
                return False
            grown = max(_GROWTH * len(self._memory), len(block))
            self._memory = bytearray(min(grown, limit))
        if header.count * _SMALLEST_RECORD > size:
            raise corrupt(f"{header.count} records in {size} bytes")
        self._batches.append(index)
        self._ends.append(self._used + size)
        self._largest = max(self._largest, size)
        return True

    def flush(self) -> Iterator[Window]:
        """Yield the window if it is not empty, and begin the next."""
        if not self._batches:
            return
        end = np.array(self._ends, np.int64)
        begin = np.append(0, end[:-1])
        batches = np.array(self._batches)
        memory = memoryview(self._memory)[: self._used]
        self._batches, self._ends = [], []
        yield _window(memory, batches, begin, end=end)


def _window(memory: Buffer, batches: NDArray[np.intp], begin: Longs, *, end: Longs) -> Window:
    return Window(
        data=np.frombuffer(memory, np.uint8),
        arrow=pa.py_buffer(memory),
        batches=batches,
        begin=begin,
        end=end,
    )
