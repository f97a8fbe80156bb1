"""Header of a batch of magic 2: parsed, checked by its checksum, stamped by a leader.

Input is hostile: an invalid header raises KafkaError(CORRUPT_MESSAGE) with its position. Batches of
    magic 0 and 1 raise UNSUPPORTED_FOR_MESSAGE_FORMAT.
Source: record batch format of KIP-98; tested on files that Kafka wrote.
"""

import struct
from collections.abc import Iterator
from typing import Final

from crc32c import crc32c

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import Codec
from trio_kafka.records.leaf import leaf
from trio_kafka.world.protocols import Buffer

HEADER: Final = struct.Struct(">qiibIhiqqqhii")
HEADER_SIZE: Final = HEADER.size
UNCOVERED: Final = struct.Struct(">qiibI")  # the fields before those that the checksum covers
COVERED: Final = struct.Struct(">hiqqqhii")
MAGIC: Final = 2
LENGTH_END: Final = 12  # `length` counts the bytes after these
SMALLEST_LENGTH: Final = HEADER_SIZE - LENGTH_END

CODEC_MASK: Final = 0x07
LOG_APPEND_TIME: Final = 0x08
TRANSACTIONAL: Final = 0x10
CONTROL: Final = 0x20
DELETE_HORIZON: Final = 0x40
DEFINED_BITS: Final = 0x7F  # the bits above; a leader clears others when it stamps a batch
SMALLEST_RECORD: Final = 7  # bytes

NO_TIMESTAMP: Final = -1
NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_SEQUENCE: Final = -1

# Base offset, length (unchanged) and leader epoch: written by a leader into a batch, in place.
# All of them are outside of the CRC.
STAMP: Final = struct.Struct(">qii")
_STAMP_OFFSET: Final = struct.Struct(">q")
_STAMP_CRC: Final = struct.Struct(">I")
_STAMP_ATTRIBUTES: Final = struct.Struct(">h")
_FEW: Final = 8  # headers that the compiled leaf reads at once, at first: many walks end early
_MANY: Final = 256
_CHECKED: Final = 64  # headers with the CRC of their batches
_MAGIC_AT: Final = 16
_CRC_AT: Final = 17
CRC_FROM: Final = 21  # first byte that the checksum covers
_MAX_TIMESTAMP_AT: Final = 35


@define
class BatchHeader:
    """Header of a batch: the 61 bytes before the records. Positional, as it is made for each
    request.
    """

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
    def codec(self) -> Codec:
        """Codec of the records. Raises KafkaError(CORRUPT_MESSAGE) for an unknown number."""
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
    def delete_horizon(self) -> int | None:
        """Time after which the cleaner may drop tombstones and markers, ms; in the field of
        the base timestamp.
        """
        return self.base_timestamp if self.attributes & DELETE_HORIZON else None


def corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)


def read_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at `position`. The records may end outside of the buffer.

    Raises KafkaError: CORRUPT_MESSAGE for an invalid header, UNSUPPORTED_FOR_MESSAGE_FORMAT for
    magic 0 and 1.
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
    """Yield position and header of each whole batch from `position` on.

    A last batch that the buffer cuts short, as answers to a Fetch may, is left out. If that is an
    error, compare the end of the last batch with the buffer's. Raises as `read_header`.
    """
    compiled = leaf()
    if compiled is not None:
        most = _FEW
        while part := compiled.headers(BatchHeader, buffer, position, most, None):
            rows, position = part
            yield from rows
            most = _MANY
    size = len(buffer)
    while size - position >= HEADER_SIZE:
        header = read_header(buffer, position)
        if header.length > size - position - LENGTH_END:
            return
        yield position, header
        position += header.length + LENGTH_END
    if 0 <= position < size - _MAGIC_AT:
        _check_magic(buffer[position + _MAGIC_AT], position)


def iterate_and_check(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader, bool]]:
    """Yield as `iterate_headers`, and whether the CRC was found right; else call `check_crc`."""
    compiled = leaf()
    if compiled is not None:
        while part := compiled.headers(BatchHeader, buffer, position, _CHECKED, crc32c):
            rows, position = part
            for place, header in rows:
                yield place, header, True
    for place, header in iterate_headers(buffer, position):
        yield place, header, False


def checksum(buffer: Buffer, position: int, header: BatchHeader) -> int:
    """Compute the CRC-32C of the batch: about 0.1 s/GiB."""
    view = memoryview(buffer)[position + CRC_FROM : position + header.length + LENGTH_END]
    return int(crc32c(view))


def check_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raise KafkaError(CORRUPT_MESSAGE) unless the batch is whole and matches its checksum."""
    if header.length > len(buffer) - position - LENGTH_END:
        raise corrupt(f"batch of {header.size} bytes at position {position} of {len(buffer)}")
    actual = checksum(buffer, position, header)
    if actual != header.crc:
        where = f"of the batch at position {position}"
        raise corrupt(f"crc {actual:08x} {where}, want {header.crc:08x}")


def stamp_append_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, *, now_ms: int
) -> None:
    """Set the append time of all records of a batch, in header and CRC, compressed or not.

    Updates `header` too. Costs a pass over the batch for the CRC.
    """
    _stamp_time(
        buffer,
        position,
        header,
        attributes=header.attributes & DEFINED_BITS | LOG_APPEND_TIME,
        timestamp=now_ms,
    )


def stamp_create_time(
    buffer: bytearray | memoryview, position: int, header: BatchHeader, *, latest: int
) -> None:
    """Set the largest create time of a batch, in header and CRC. Costs and updates as above."""
    _stamp_time(
        buffer,
        position,
        header,
        attributes=header.attributes & DEFINED_BITS & ~LOG_APPEND_TIME,
        timestamp=latest,
    )


def _stamp_time(
    buffer: bytearray | memoryview,
    position: int,
    header: BatchHeader,
    *,
    attributes: int,
    timestamp: int,
) -> None:
    header.attributes = attributes
    header.max_timestamp = timestamp
    _STAMP_ATTRIBUTES.pack_into(buffer, position + CRC_FROM, attributes)
    _STAMP_OFFSET.pack_into(buffer, position + _MAX_TIMESTAMP_AT, timestamp)
    header.crc = checksum(buffer, position, header)
    _STAMP_CRC.pack_into(buffer, position + _CRC_AT, header.crc)
