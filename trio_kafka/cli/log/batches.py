"""Batches of a segment or snapshot file as the log tools show them.

`read_batches` performs a scan, see `trio_kafka.log.scan.batches`, and says in words what damage is.
"""

from collections.abc import Iterator
from typing import Final, TypeAlias

from trio_kafka.attributes import frozen
from trio_kafka.errors import KafkaError
from trio_kafka.log.scan import batches as scan
from trio_kafka.log.scan.batches import BatchScan, Damage, batches_of
from trio_kafka.records.batch import Record, read_records
from trio_kafka.records.header import HEADER_SIZE, LENGTH_END, MAGIC, NO_SEQUENCE, BatchHeader
from trio_kafka.records.legacy import MAGIC_AT, LegacyMessage, read_legacy_records, read_message
from trio_kafka.world.blocking_file import CHUNK, FileReader

_SEQUENCES: Final = 1 << 31
_ZEROS: Final = bytes(CHUNK)


@frozen(kw_only=True)
class Batch:
    """A whole batch, or a message of magic 0 or 1, as its file has it.

    header: that of the batch, or the description of the message, whose offset is that of a wrapper.
    crc_found: computed.
    """

    position: int
    header: BatchHeader
    crc_found: int
    file: FileReader

    @property
    def is_valid(self) -> bool:
        return self.header.crc == self.crc_found

    @property
    def is_message(self) -> bool:
        return self.header.magic != MAGIC

    @property
    def base_offset(self) -> int:
        return self.header.base_offset

    @property
    def last_offset(self) -> int:
        return self.header.last_offset

    @property
    def size(self) -> int:
        return self.header.size

    @property
    def codec(self) -> str:
        """Name of the codec, or its unknown number."""
        try:
            codec = self._message.codec if self.is_message else self.header.codec
        except KafkaError as error:
            return (error.message or "").partition(",")[0]
        return codec.name.lower()

    @property
    def last_sequence(self) -> int:
        if self.header.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.header.base_sequence + self.header.last_offset_delta) % _SEQUENCES

    @property
    def _message(self) -> LegacyMessage:
        return read_message(self._content, 0)

    @property
    def _content(self) -> memoryview:
        return self.file.read(self.position, self.size)

    def records(self) -> Iterator[Record]:
        """Decode its records. Raises KafkaError(CORRUPT_MESSAGE)."""
        if self.is_message:
            return read_legacy_records(self._message)
        return read_records(self._content, 0, self.header)

    def sequence_of(self, record: Record) -> int:
        """Return the sequence number of one of its records, as Kafka derives it; -1: none."""
        if self.header.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.header.base_sequence + record.offset - self.base_offset) % _SEQUENCES


@frozen(kw_only=True)
class Gap:
    """Bytes from `position` to `end` that are no whole batch.

    reason: what was found there. tail: they are the end of the file. zeros: all are zero, as in a
    preallocated file.
    """

    position: int
    end: int
    reason: str
    tail: bool
    zeros: bool = False


Piece: TypeAlias = Batch | Gap


def read_batches(
    file: FileReader, *, position: int = 0, end: int | None = None, check: bool = True
) -> Iterator[Piece]:
    """Yield each batch from `position` on, and each gap between them. OSError.

    end: stop before a batch that begins there or later. check: compute the CRC of each batch, at
    0.1 s/GiB; without it only headers are read.
    """
    for piece in batches_of(
        file, BatchScan(size=file.size, position=position, end=end, crcs=check)
    ):
        if isinstance(piece, scan.Batch):
            yield Batch(
                position=piece.position, header=piece.header, crc_found=piece.crc, file=file
            )
        else:
            yield Gap(
                position=piece.position,
                end=piece.end,
                reason=_reason(piece.damage),
                tail=piece.tail,
                zeros=all(_is_zero(part) for part in file.pieces(piece.position, piece.end)),
            )


def _is_zero(piece: memoryview) -> bool:
    return bytes(piece) == _ZEROS[: len(piece)]  # 30 times as fast as `strip`


def _reason(damage: Damage) -> str:
    """Return what stands in the place of a batch."""
    header, head, available = damage.header, damage.head, damage.remaining
    if header is not None:
        if header.size > available:
            return f"the batch has {header.size} bytes, {available} are left"
        if header.last_offset_delta < 0:
            return f"last offset delta {header.last_offset_delta}, want 0 or more"
        return f"the file was cut within the batch of {header.size} bytes"
    if len(head) <= MAGIC_AT:
        return f"{available} bytes are left, a batch has at least {HEADER_SIZE}"
    if damage.problem:
        return damage.problem
    size = int.from_bytes(head[8:LENGTH_END], "big", signed=True) + LENGTH_END
    return f"the message has {size} bytes, {available} are left"
