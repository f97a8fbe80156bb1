"""Search for the next whole batch behind damage, for a log line, a report or a reader. Pure.

The content is hostile: a client can fill a record with bytes that look like headers of large
batches. Still the time is linear in the bytes searched, whatever they hold, for two reasons:

- Only a candidate is looked at, a position with the high bytes of a possible offset and the magic
  in their places. Two searches for these bytes overtake each other, so no byte is compared twice.
- Checksums are paid from a budget. It begins with `_ALLOWANCE` bytes and grows by `_PER_BYTE` for
  each byte searched. A candidate that costs more than is left is skipped and counted.

So plain damage hides no batch: other bytes are candidates once in 2^40. A hostile record can hide
batches close behind it.
"""

from collections.abc import Generator, Iterator
from struct import Struct
from typing import Final, NamedTuple

from attrs import field
from crc32c import crc32c

from trio_kafka.attributes import define
from trio_kafka.records.header import (
    CRC_FROM,
    HEADER_SIZE,
    LENGTH_END,
)
from trio_kafka.world.protocols import Buffer

_HEAD: Final = Struct(">qiibIhi")  # up to the delta of the last offset
_MAGIC_AT: Final = 16
_MAGIC: Final = b"\x02"
_LARGEST_GAP: Final = 1 << 31  # offsets between the last batch and the next whole one
_WINDOW: Final = 32 << 10  # bytes searched between two reads: 2 ms at worst
_PIECE: Final = 1 << 20
_READ_COST: Final = 256 << 10  # bytes that are checksummed in the time of one read
_ALLOWANCE: Final = 128 << 20  # more than a frame holds, 40 ms
_PER_BYTE: Final = 8


class Span(NamedTuple):
    """Bytes of a file that a search or a scan asks for.

    need: fewer are of no use, unless the file ends before; 0: all of them are needed.
    """

    position: int
    size: int
    need: int = 0


# Yields the bytes that it needs and is sent them, fewer where the file ends.
Search = Generator[Span, Buffer, int | None]


@define
class WholeBatchSearch:
    """Searches of one file, from its begin to its end, with one budget for all of them.

    end: of the file, or of its part that is searched. skipped: candidates that were too costly.
    """

    end: int
    skipped: int = field(default=0, init=False)
    _budget: int = field(default=_ALLOWANCE, init=False)

    def find(
        self,
        position: int,
        next_offset: int,
        *,
        least_epoch: int | None = None,
        stop: int | None = None,
    ) -> Search:
        """Return the position of the first whole batch from `position` on; None: there is none.

        A whole batch has a matching CRC and an offset of `next_offset` or at most 2^31 more.
        least_epoch: of the leader; None: any. stop: a batch begins before it; None: anywhere.
        """
        stop = self.end if stop is None else min(stop, self.end)
        largest = next_offset + _LARGEST_GAP
        high = _common_begin(next_offset, largest)
        while position + HEADER_SIZE <= stop:
            content = bytes((yield Span(position, min(_WINDOW, stop - position))))
            last = len(content) - HEADER_SIZE
            if last < 0:
                return None  # the file was truncated
            self._budget += (last + 1) * _PER_BYTE
            for at in _candidates(content, high, last):
                base, length, epoch, _, crc, _, delta = _HEAD.unpack_from(content, at)
                size = length + LENGTH_END
                if not HEADER_SIZE <= size <= self.end - position - at:
                    continue
                if not next_offset <= base <= largest or delta < 0:
                    continue
                if least_epoch is not None and epoch < least_epoch:
                    continue
                if self._pays(size, buffered=len(content) - at):
                    begin = memoryview(content)[at + CRC_FROM : at + size]
                    end = position + at + size
                    if crc == (yield from checksum_of(begin, end - size + CRC_FROM, end)):
                        return position + at
            position += last + 1
        return None

    def _pays(self, size: int, *, buffered: int) -> bool:
        """Pay for the check of a candidate of `size` bytes. False: it is skipped.

        buffered: how many of its bytes were read already.
        """
        cost = size if size <= buffered else size + _READ_COST
        if cost > self._budget:
            self.skipped += 1
            return False
        self._budget -= cost
        return True


def checksum_of(begin: memoryview, position: int, end: int) -> Generator[Span, Buffer, int]:
    """Return the CRC-32C of the bytes from `position` to `end`; -1 if the file ends before.

    begin: the first of these bytes.
    """
    crc = int(crc32c(begin))
    position += len(begin)
    while position < end:
        piece = yield Span(position, min(_PIECE, end - position))
        if not piece:
            return -1
        crc = int(crc32c(piece, crc))
        position += len(piece)
    return crc


def _candidates(content: bytes, high: bytes, last: int) -> Iterator[int]:
    """Yield each position up to `last` where an offset that begins with `high` and the magic
    stand.
    """
    at = content.find(high)
    while 0 <= at <= last:
        possible = content.find(_MAGIC, at + _MAGIC_AT) - _MAGIC_AT
        if possible < 0:
            return
        if possible == at:
            yield at
            possible = at + 1
        at = content.find(high, possible)


def _common_begin(first: int, last: int) -> bytes:
    """Return the high bytes that all offsets from `first` to `last` have."""
    low, high = first.to_bytes(8, "big"), last.to_bytes(8, "big")
    same = next((n for n in range(8) if low[n] != high[n]), 8)
    return low[:same]
