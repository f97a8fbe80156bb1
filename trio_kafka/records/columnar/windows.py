"""Bring the records of consecutive batches, decompressed, into windows of some MiB.

Plain batches are not copied: their window is a part of the buffer. A window with a compressed batch
is a copy. One window holds at least one batch, and at most one beyond its size, so that memory
stays bounded; its positions fit into Arrow's offsets of 32 bits.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
from attrs import field
from crc32c import crc32c
from numpy.typing import NDArray

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import DECOMPRESSED_LIMIT, read_records
from trio_kafka.records.columnar.errors import corrupt_batch
from trio_kafka.records.columnar.varints import Bytes, Longs
from trio_kafka.records.compression import decompress
from trio_kafka.records.header import (
    CODEC_MASK,
    CONTROL,
    CRC_FROM,
    HEADER_SIZE,
    LENGTH_END,
    check_crc,
    corrupt,
    read_header,
)
from trio_kafka.world.protocols import Buffer

# Enough batches of 16 KiB for long vectors, and little enough for a processor's cache.
WINDOW: Final = 8 << 20
_LARGEST: Final = 1 << 30  # of two batches and more: Arrow's offsets have 31 bits
_SMALLEST_RECORD: Final = 7


@frozen(kw_only=True)
class Window:
    """Records of some batches in one piece of memory.

    batches: which they are, numbers in the walk. begin, end: of each batch's records in `data`.
    """

    data: Bytes
    arrow: Any  # the same memory, a pyarrow.Buffer
    batches: NDArray[np.intp]
    begin: Longs
    end: Longs

    def part(self, first: int, last: int) -> "Window":
        """The window of its batches from `first` to `last`, which is left out."""
        return Window(
            data=self.data,
            arrow=self.arrow,
            batches=self.batches[first:last],
            begin=self.begin[first:last],
            end=self.end[first:last],
        )


def fill_windows(
    data: memoryview,
    positions: Sequence[int],
    headers: NDArray[np.void],
    wanted: NDArray[np.bool_],
    *,
    check_crcs: bool,
    limit: int = DECOMPRESSED_LIMIT,
    size: int = WINDOW,
) -> Iterator[Window]:
    """Yield windows with the `wanted` batches; control batches and empty ones are checked only.

    limit: bytes of the records of one compressed batch. size: where a window ends.
    Raises CorruptBatchError at the first batch that lies, after the windows before it.
    """
    filling = _Filling(data, size)
    picked = np.flatnonzero(wanted)
    rows = zip(
        picked.tolist(),
        (headers["length"][picked].astype(np.int64) + LENGTH_END).tolist(),
        headers["crc"][picked].tolist(),
        headers["attributes"][picked].tolist(),
        headers["count"][picked].tolist(),
        strict=True,
    )
    for index, batch_size, crc, attributes, count in rows:
        position = positions[index]
        begin, end = position + HEADER_SIZE, position + batch_size
        try:
            if check_crcs and crc32c(data[position + CRC_FROM : end]) != crc:
                check_crc(data, position, read_header(data, position))
            if attributes & CONTROL:
                continue
            if count <= 0:
                list(read_records(data, position, read_header(data, position), limit))
                continue
            plain = None
            if attributes & CODEC_MASK:
                codec = read_header(data, position).codec
                plain = decompress(codec, data[begin:end], limit)
            room = end - begin if plain is None else len(plain)
            if count * _SMALLEST_RECORD > room:
                raise corrupt(f"{count} records in {room} bytes of the batch at {position}")
        except KafkaError as error:
            yield from filling.flush()
            raise corrupt_batch(error, position) from None
        if filling.is_full(begin, end, plain):
            yield from filling.flush()
        filling.add(index, begin, end, plain)
    yield from filling.flush()


@define
class _Filling:
    """The batches of the next window."""

    _data: memoryview
    _most: int
    _batches: list[int] = field(factory=list)
    _places: list[tuple[int, int]] = field(factory=list)  # of plain records in the buffer
    _copies: dict[int, bytes] = field(factory=dict)  # of compressed ones, by place
    _copied: int = 0

    def is_full(self, begin: int, end: int, plain: bytes | None) -> bool:
        """True if the window has enough batches, or cannot hold another one."""
        if not self._batches:
            return False
        spanned = begin - self._places[0][0]
        held = max(spanned, self._copied)
        return held >= self._most or held + max(end - begin, len(plain or b"")) > _LARGEST

    def add(self, index: int, begin: int, end: int, plain: bytes | None) -> None:
        """Add one batch: its records stand in the buffer or in `plain`."""
        if plain is not None:
            self._copies[len(self._places)] = plain
            self._copied += len(plain)
        self._batches.append(index)
        self._places.append((begin, end))

    def flush(self) -> Iterator[Window]:
        """Yield the window, if it holds anything, and begin the next."""
        if not self._batches:
            return
        places = np.array(self._places, np.int64)
        if self._copies:
            parts: list[Buffer] = [self._data[begin:end] for begin, end in self._places]
            for place, plain in self._copies.items():
                parts[place] = plain
            ends = np.cumsum([len(part) for part in parts])
            begins = np.append(0, ends[:-1])
            memory: Buffer = parts[0] if len(parts) == 1 else b"".join(parts)
        else:
            first = self._places[0][0]
            memory = self._data[first : self._places[-1][1]]
            begins, ends = places[:, 0] - first, places[:, 1] - first
        batches = np.array(self._batches)
        self._batches, self._places, self._copies, self._copied = [], [], {}, 0
        yield Window(
            data=np.frombuffer(memory, np.uint8),
            arrow=pa.py_buffer(memory),
            batches=batches,
            begin=np.ascontiguousarray(begins),
            end=np.ascontiguousarray(ends),
        )
