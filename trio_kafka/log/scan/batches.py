"""Scan of a file of batches: whole batches, damage, and what follows damage. No I/O.

A scan yields a `Span` for bytes that it needs and is sent them, fewer where the file ends. Between
these it yields each `Batch`, and a `Gap` for bytes that are none. `batches_of` performs the reads
of a program without a loop, `walk.walking` those of the broker.
The file may grow or shrink meanwhile: nothing is read behind the `size` that a scan begins with,
and a length is believed only as far as bytes are there. After damage a scan goes on at the next
whole batch, in linear time, see `WholeBatchSearch`.
Memory is bounded by `chunk`, or by one batch where `whole` asks for that.
Source: record batch format of KIP-98; message sets before it.
"""

from collections.abc import Generator, Iterator
from typing import Final, NamedTuple, Protocol

from attrs import field
from crc32c import crc32c

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import KafkaError
from trio_kafka.log.scan.whole_batch_search import Span, WholeBatchSearch, checksum_of
from trio_kafka.records.header import (
    CRC_FROM,
    HEADER_SIZE,
    LENGTH_END,
    MAGIC,
    BatchHeader,
    read_header,
)
from trio_kafka.records.legacy import (
    MAGIC_AT,
    SMALLEST_MESSAGE,
    message_crc,
    read_message,
)
from trio_kafka.records.stored_header import SMALLEST_STORED, read_stored_header
from trio_kafka.world.protocols import Buffer

CHUNK: Final = 256 << 10
HEADERS: Final = 4096  # chunk of a scan that wants headers alone
LARGEST_MESSAGE: Final = 16 << 20
_NOTHING: Final = memoryview(b"")


class Batch(NamedTuple):
    """A whole batch. crc: computed; that of the header where it was not.

    header: of a message of magic 0 or 1 its description, see `stored_header`.
    """

    position: int
    header: BatchHeader
    crc: int


@frozen(kw_only=True)
class Damage:
    """A position where a scan wants a batch, and what it found there.

    remaining: bytes up to the end. head: those that a header would be in, fewer at the end.
    header: None: there is none, and `problem` says why, if more than its size is wrong.
    least: smallest offset that was accepted; None: any.
    """

    position: int
    remaining: int
    head: bytes
    header: BatchHeader | None
    problem: str
    least: int | None


@frozen
class Gap:
    """Bytes from the damage to `end` that are no whole batch. tail: they end the file."""

    damage: Damage
    end: int
    tail: bool

    @property
    def position(self) -> int:
        return self.damage.position


Piece = Batch | Gap
Steps = Generator[Span | Batch | Gap, Buffer, None]


class ReadsAt(Protocol):
    """File of a program without a loop, see `world.blocking_file`."""

    @property
    def size(self) -> int:
        """Bytes, as they were when it was opened."""

    def read(self, position: int, size: int) -> Buffer:
        """Return the bytes at a position, fewer at the end of the file. OSError."""


@define(eq=False, kw_only=True)
class BatchScan:
    """One scan. size: bytes of the file, or of its part that may hold batches.

    position: where a batch begins. end: no batch is wanted that begins there or later.
    least: smallest offset of the first batch, and offsets ascend; None: any offset is accepted.
    messages: of magic 0 and 1 are accepted, of at most `largest_message` bytes.
    crcs: computed for each batch. matching: one that is not that of its header is damage.
    whole: each batch lies in the bytes that were sent last.
    resumes: False: the scan ends with the first gap, which reaches to the end.
    chunk: bytes in one read.
    """

    size: int
    position: int = 0
    end: int | None = None
    least: int | None = None
    messages: bool = True
    largest_message: int = LARGEST_MESSAGE
    crcs: bool = False
    matching: bool = False
    whole: bool = False
    resumes: bool = True
    chunk: int = CHUNK
    _view: memoryview = field(default=_NOTHING, init=False)
    _start: int = field(default=0, init=False)  # position of the view
    _last_span: Span | None = field(default=None, init=False)
    _problem: str = field(default="", init=False)
    _rejected: bool = field(default=False, init=False)

    def reject(self) -> None:
        """Treat the batch that was yielded last as damage."""
        self._rejected = True

    def steps(self) -> Steps:
        """Scan, once. Yield what the module says."""
        position, next_offset = self.position, self.least or 0
        end = self.size if self.end is None else min(self.end, self.size)
        search = WholeBatchSearch(self.size)
        while position < end:
            seen = self._look(position)
            while type(seen) is Span:
                self._view, self._start = memoryview((yield seen)), position
                seen = self._look(position)
            header = seen if type(seen) is BatchHeader else None
            if (
                header is not None
                and (size := header.length + LENGTH_END) <= self.size - position
                and header.last_offset_delta >= 0
                and (self.least is None or header.base_offset >= next_offset)
            ):
                crc = header.crc
                if self.crcs:
                    at = position - self._start
                    content = self._view[at + CRC_FROM : at + size]
                    if header.magic == MAGIC and len(content) == size - CRC_FROM:
                        crc = crc32c(content)
                    else:
                        crc = yield from self._checksum(header, position)
                if crc == header.crc or (crc >= 0 and not self.matching):
                    yield Batch(position, header, crc)
                    if not self._rejected:
                        next_offset = max(
                            next_offset, header.base_offset + header.last_offset_delta + 1
                        )
                        position += size
                        continue
                    self._rejected = False
            damage = self._damage(position, header, next_offset)
            if not self.resumes:
                yield Gap(damage, self.size, tail=True)
                return
            resumed = yield from search.find(position + 1, next_offset)
            self._view = _NOTHING  # the search has read other bytes
            position = self.size if resumed is None else resumed
            yield Gap(damage, position, tail=resumed is None)

    def _look(self, position: int) -> BatchHeader | Span | None:
        """Return the header at a position, the bytes that it takes to know it, or None."""
        view, at = self._view, position - self._start
        available = len(view) - at
        if available < HEADER_SIZE or view[at + MAGIC_AT] != MAGIC:
            return self._look_closer(position)
        try:
            header = read_header(view, at)
        except KafkaError:
            return self._look_closer(position)
        size = header.length + LENGTH_END
        if self.whole and available < size <= self.size - position:
            return self._ask(position, size)
        return header

    def _look_closer(self, position: int) -> BatchHeader | Span | None:
        """Look at what is no batch of magic 2, or not in the view."""
        at, remaining = position - self._start, self.size - position
        need = min(HEADER_SIZE, remaining)
        if len(self._view) - at < need:
            return self._ask(position, need)
        self._problem = ""
        try:
            if self.messages and need > MAGIC_AT and self._view[at + MAGIC_AT] < MAGIC:
                return self._message_at(at, remaining)
            return read_header(self._view[at : at + need])  # errors name positions in it
        except KafkaError as error:
            self._problem = error.message or error.code.name
            return None

    def _message_at(self, at: int, remaining: int) -> BatchHeader | Span | None:
        """Return the description of a message. It is read whole, unless headers alone count."""
        if not (self.whole or self.crcs or self.resumes):
            if len(self._view) - at < SMALLEST_STORED:
                return None
            return read_stored_header(self._view, at)
        length = int.from_bytes(self._view[at + 8 : at + LENGTH_END], "big", signed=True)
        size = length + LENGTH_END
        if not SMALLEST_MESSAGE <= length <= self.largest_message or size > remaining:
            return None
        if len(self._view) - at < size:
            position = self._start + at
            return self._ask(position, size)
        content = self._view[at : at + size]
        read_message(content)
        return read_stored_header(content)

    def _ask(self, position: int, need: int) -> Span | None:
        """Return the span that is needed, once; None: the file has ended before."""
        span = Span(position, min(max(self.chunk, need), self.size - position), need)
        if span == self._last_span:
            return None
        self._last_span = span
        return span

    def _checksum(
        self, header: BatchHeader, position: int
    ) -> Generator[Span | Batch | Gap, Buffer, int]:
        """Return the checksum of a batch that is a message or not in the view; -1: it was cut."""
        at, size = position - self._start, header.length + LENGTH_END
        content = self._view[at : at + size]
        if header.magic != MAGIC:
            return message_crc(content, 0, read_message(content))
        crc = yield from checksum_of(content[CRC_FROM:], position + CRC_FROM, position + size)
        self._view = _NOTHING  # other bytes were read
        return crc

    def _damage(self, position: int, header: BatchHeader | None, next_offset: int) -> Damage:
        at = position - self._start
        return Damage(
            position=position,
            remaining=self.size - position,
            head=bytes(self._view[at : at + min(HEADER_SIZE, self.size - position)]),
            header=header,
            problem=self._problem,
            least=None if self.least is None else next_offset,
        )


def batches_of(file: ReadsAt, scan: BatchScan) -> Iterator[Piece]:
    """Perform a scan with reads that block, and yield its batches and gaps. OSError."""
    steps = scan.steps()
    step = next(steps, None)
    while step is not None:
        if isinstance(step, Span):
            step = steps.send(file.read(step.position, step.size))
        else:
            yield step
            step = next(steps, None)
