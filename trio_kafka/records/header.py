"""The header of a batch of magic 2: reading, its checksum, and the stamps of a leader.

Whatever is read here is hostile: a header that lies raises KafkaError(CORRUPT_MESSAGE) with its
position. Batches of magic 0 and 1 are named (UNSUPPORTED_FOR_MESSAGE_FORMAT), not read.
Source: record batch format of KIP-98; tested on files that Kafka wrote.
"""

import struct
from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import Codec
from trio_kafka.world.protocols import Buffer

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
UNCOVERED: Final = struct.Struct(">qiibI")  # the fields before those that the checksum covers
COVERED: Final = struct.Struct(">hiqqqhii")
MAGIC: Final = 2
LENGTH_END: Final = 12  # `length` counts the bytes from here on
SMALLEST_LENGTH: Final = HEADER_SIZE - LENGTH_END

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1
_SEQUENCES: Final = 1 << 31

# Base offset, length (as it is) and leader epoch: what a leader writes into a batch, in place. All
# of them are outside of the CRC.
STAMP: Final = struct.Struct(">qii")
_STAMP_OFFSET: Final = struct.Struct(">q")
_STAMP_CRC: Final = struct.Struct(">I")
_STAMP_ATTRIBUTES: Final = struct.Struct(">h")
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
CRC_FROM: Final = 21  # what the checksum covers
_MAX_TIMESTAMP_AT: Final = 35


@define
class BatchHeader:
    """The 61 bytes before the records, field by field; positional, as the hot path builds it."""

    base_offset: int
    length: int
    leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return self.length + LENGTH_END

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        """Of the last record; sequences go on with 0 after 2**31 - 1."""
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.base_sequence + self.last_offset_delta) % _SEQUENCES

    @property
    def codec(self) -> Codec:
        """Raises KafkaError(CORRUPT_MESSAGE) for the numbers that name none."""
        try:
            return Codec(self.attributes & CODEC_MASK)
        except ValueError:
            raise corrupt(f"codec {self.attributes & CODEC_MASK}, want 0 to 4") from None

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & CONTROL)

    @property
    def has_producer_id(self) -> bool:
        return self.producer_id != NO_PRODUCER_ID

    @property
    def delete_horizon(self) -> int | None:
        """When the cleaner may drop tombstones and markers, ms; stands where the first time did."""
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """The header at `position`. The records are not looked at: they may end outside of the buffer.

    Raises KafkaError: CORRUPT_MESSAGE for bytes that are no header, UNSUPPORTED_FOR_MESSAGE_FORMAT
    for magic 0 and 1.
    """
    if position < 0 or len(buffer) - position < HEADER_SIZE:
        if 0 <= position < len(buffer) - _MAGIC_AT:
            _check_magic(buffer[position + _MAGIC_AT], position)
        raise corrupt(f"{len(buffer) - position} bytes at position {position}, want {HEADER_SIZE}")
    header = BatchHeader(*HEADER.unpack_from(buffer, position))
    if header.magic != 2:
        _check_magic(header.magic, position)
    if header.length < SMALLEST_LENGTH:
        raise corrupt(
            f"length {header.length} at position {position}, want at least {SMALLEST_LENGTH}"
        )
    return header


def _check_magic(magic: int, position: int) -> None:
    if magic in (0, 1):
        raise KafkaError(
            ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT, f"magic {magic} at position {position}"
        )
    if magic != 2:
        raise corrupt(f"magic {magic} at position {position}, want 2")


def iterate_headers(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Position and header of each whole batch from `position` on.

    Ends before a last batch that the buffer cuts short, as answers to a Fetch may: where that is
    wrong the caller compares the end of the last batch with the buffer's. Raises as `read_header`.
    """
    size = len(buffer)
    while size - position >= HEADER_SIZE:
        header = read_header(buffer, position)
        if header.length > size - position - LENGTH_END:
            return
        yield position, header
        position += header.length + LENGTH_END
    if 0 <= position < size - _MAGIC_AT:
        _check_magic(buffer[position + _MAGIC_AT], position)


def checksum(buffer: Buffer, position: int, header: BatchHeader) -> int:
    """CRC-32C of the batch as it is now: about 0.1 s/GiB."""
    view = memoryview(buffer)[position + CRC_FROM : position + header.length + LENGTH_END]
    return int(crc32c(view))


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raises KafkaError(CORRUPT_MESSAGE) unless the batch is whole and matches its checksum."""
    if header.length > len(buffer) - position - LENGTH_END:
        raise corrupt(f"batch of {header.size} bytes at position {position} of {len(buffer)}")
    found = checksum(buffer, position, header)
    if found != header.crc:
        raise corrupt(f"crc {found:08x} of the batch at position {position}, want {header.crc:08x}")


def stamp_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, now_ms: int
) -> None:
    """Give all records of a batch the time of its append: header and CRC only, compressed or not.

    Brings `header` up to date too. Costs a pass over the batch for the CRC.
    """
    header.attributes |= LOG_APPEND_TIME
    header.max_timestamp = now_ms
    _STAMP_ATTRIBUTES.pack_into(buffer, position + CRC_FROM, header.attributes)
    _STAMP_OFFSET.pack_into(buffer, position + _MAX_TIMESTAMP_AT, now_ms)
    header.crc = checksum(buffer, position, header)
    _STAMP_CRC.pack_into(buffer, position + _CRC_AT, header.crc)
