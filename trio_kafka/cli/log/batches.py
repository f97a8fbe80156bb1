"""Batches of a segment or snapshot file, one after the other, with what is between them.

Reads 256 KiB at a time, or one batch. A batch of more than 16 MiB is checked piece by piece, so
that a damaged length costs no memory. After damage the scan goes on at the next whole batch, see
`WholeBatchSearch`.
"""

from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

from crc32c import crc32c

from trio_kafka.attributes import frozen
from trio_kafka.cli.log.reader import CHUNK, FileReader
from trio_kafka.errors import KafkaError
from trio_kafka.records.batch import Record, read_records
from trio_kafka.records.header import (
    CRC_FROM,
    HEADER_SIZE,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
    read_header,
)
from trio_kafka.records.legacy import (
    ENTRY_HEAD,
    MAGIC_AT,
    SMALLEST_MESSAGE,
    LegacyMessage,
    message_crc,
    read_legacy_records,
    read_message,
)
from trio_kafka.records.whole_batch_search import WholeBatchSearch, read_and_search

LARGE: Final = 16 << 20
_SEQUENCES: Final = 1 << 31
_ZEROS: Final = bytes(CHUNK)


@frozen(kw_only=True)
class Batch:
    """A whole batch, or a message of magic 0 or 1, as its file has it.

    base_offset: of a compressed message that of its wrapper, as for last_offset. count: -1 for
    such a message. header: None below magic 2. read: returns its bytes.
    """

    position: int
    size: int
    magic: int
    base_offset: int
    last_offset: int
    count: int
    crc: int
    crc_found: int
    timestamp: int
    is_append_time: bool
    header: BatchHeader | None
    read: Callable[[], memoryview]

    @property
    def is_valid(self) -> bool:
        return self.crc == self.crc_found

    @property
    def codec(self) -> str:
        """Name of the codec, or its unknown number."""
        try:
            found = self.header.codec if self.header else self._message.codec
        except KafkaError as error:
            return (error.message or "").partition(",")[0]
        return found.name.lower()

    @property
    def leader_epoch(self) -> int:
        return self.header.leader_epoch if self.header else NO_EPOCH

    @property
    def producer_id(self) -> int:
        return self.header.producer_id if self.header else NO_PRODUCER_ID

    @property
    def producer_epoch(self) -> int:
        return self.header.producer_epoch if self.header else NO_EPOCH

    @property
    def base_sequence(self) -> int:
        return self.header.base_sequence if self.header else NO_SEQUENCE

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE or self.header is None:
            return NO_SEQUENCE
        return (self.base_sequence + self.header.last_offset_delta) % _SEQUENCES

    @property
    def is_transactional(self) -> bool:
        return self.header is not None and self.header.is_transactional

    @property
    def is_control(self) -> bool:
        return self.header is not None and self.header.is_control

    @property
    def delete_horizon(self) -> int | None:
        return self.header.delete_horizon if self.header else None

    @property
    def _message(self) -> LegacyMessage:
        return read_message(self.read(), 0)

    def records(self) -> Iterator[Record]:
        """Decode its records. Raises KafkaError(CORRUPT_MESSAGE)."""
        content = self.read()
        if self.header is not None:
            return read_records(content, 0, self.header)
        return read_legacy_records(read_message(content, 0))

    def sequence_of(self, record: Record) -> int:
        """Return the sequence number of one of its records, as Kafka derives it; -1: none."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + record.offset - self.base_offset) % _SEQUENCES


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
    next_offset = 0
    search = WholeBatchSearch(file.size)
    end = file.size if end is None else min(end, file.size)
    while position < end:
        try:
            found = _batch_at(file, position, check=check)
        except _NoBatchError as error:
            reason = str(error)
        else:
            yield found
            next_offset = max(next_offset, found.last_offset + 1)
            position += found.size
            continue
        whole = read_and_search(search.find(position + 1, next_offset), file.read)
        after = file.size if whole is None else whole
        yield Gap(
            position=position,
            end=after,
            reason=reason,
            tail=whole is None,
            zeros=all(_is_zero(piece) for piece in file.pieces(position, after)),
        )
        position = after


def _is_zero(piece: memoryview) -> bool:
    return bytes(piece) == _ZEROS[: len(piece)]  # 30 times as fast as `strip`


class _NoBatchError(Exception):
    """Raised where no whole batch begins; the message says what was found."""


def _batch_at(file: FileReader, position: int, *, check: bool) -> Batch:
    """Return the batch at a position. Raises _NoBatchError."""
    head = file.read(position, HEADER_SIZE)
    left = file.size - position
    if len(head) <= MAGIC_AT:
        raise _NoBatchError(f"{left} bytes are left, a batch has at least {HEADER_SIZE}")
    if head[MAGIC_AT] in (0, 1):
        return _message_at(file, position)
    try:
        header = read_header(head)
    except KafkaError as error:
        raise _NoBatchError(error.message) from error
    if header.size > left:
        raise _NoBatchError(f"the batch has {header.size} bytes, {left} are left")
    if header.last_offset_delta < 0:
        raise _NoBatchError(f"last offset delta {header.last_offset_delta}, want 0 or more")
    crc = header.crc
    if check:
        crc = 0
        for piece in file.pieces(position + CRC_FROM, position + header.size):
            crc = crc32c(piece, crc)
    return Batch(
        position=position,
        size=header.size,
        magic=header.magic,
        base_offset=header.base_offset,
        last_offset=header.last_offset,
        count=header.count,
        crc=header.crc,
        crc_found=crc,
        timestamp=header.max_timestamp,
        is_append_time=header.is_log_append_time,
        header=header,
        read=lambda: file.read(position, header.size),
    )


def _message_at(file: FileReader, position: int) -> Batch:
    """Return the message of magic 0 or 1 at a position. Raises _NoBatchError."""
    length = int.from_bytes(file.read(position, ENTRY_HEAD)[8:], "big", signed=True)
    size = length + ENTRY_HEAD
    if not SMALLEST_MESSAGE <= length <= LARGE or position + size > file.size:
        raise _NoBatchError(f"the message has {size} bytes, {file.size - position} are left")
    content = file.read(position, size)
    try:
        message = read_message(content)
    except KafkaError as error:
        raise _NoBatchError(error.message) from error
    return Batch(
        position=position,
        size=size,
        magic=message.magic,
        base_offset=message.offset,
        last_offset=message.offset,
        count=-1,
        crc=message.crc,
        crc_found=message_crc(content, 0, message),
        timestamp=message.timestamp,
        is_append_time=message.is_log_append_time,
        header=None,
        read=lambda: file.read(position, size),
    )
