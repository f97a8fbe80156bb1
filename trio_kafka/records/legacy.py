"""Messages of magic 0 and 1, which old directories hold. They are read, never written.

A message set is a sequence of messages, each with an offset and a size. A compressed set is the
value of one wrapper message, whose offset is that of its last message. Offsets inside of a wrapper
are absolute in magic 0 and relative in magic 1. Input is hostile, as in `batch`.
Source: KIP-31, KIP-32; tested on sets of Kafka's own builder.
"""

import struct
from collections.abc import Iterator
from typing import Final
from zlib import crc32

from trio_kafka.attributes import define
from trio_kafka.records.batch import DECOMPRESSED_LIMIT, Record
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, corrupt
from trio_kafka.world.protocols import Buffer

ENTRY_HEAD: Final = 12  # offset and size before each message
SMALLEST_MESSAGE: Final = 14  # of magic 0, with null key and null value
MAGIC_AT: Final = 16  # in the entry, as in a record batch

_HEAD: Final = struct.Struct(">qiIbb")
_LONG: Final = struct.Struct(">q")
_INT: Final = struct.Struct(">i")
_CRC_FROM: Final = 16
_MASK: Final = 0xFFFFFFFF
_LZ4_MAGIC: Final = b"\x04\x22\x4d\x18"


@define(kw_only=True)
class LegacyMessage:
    """One message of a set. The offset of a wrapper is that of its last message."""

    offset: int
    length: int
    crc: int
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None

    @property
    def size(self) -> int:
        """Bytes of the whole entry."""
        return self.length + ENTRY_HEAD

    @property
    def codec(self) -> Codec:
        """Codec of a wrapper. Raises KafkaError(CORRUPT_MESSAGE) for an unknown number."""
        number = self.attributes & CODEC_MASK
        if number > Codec.LZ4:
            raise corrupt(f"codec {number} in magic {self.magic}, want 0 to 3")
        return Codec(number)

    @property
    def is_log_append_time(self) -> bool:
        return self.magic == 1 and bool(self.attributes & LOG_APPEND_TIME)


def read_message(buffer: Buffer, position: int = 0) -> LegacyMessage:
    """Read the message at `position`, which must be whole. The CRC is not checked.

    Raises KafkaError(CORRUPT_MESSAGE).
    """
    if len(buffer) - position < ENTRY_HEAD + SMALLEST_MESSAGE:
        raise corrupt(f"{len(buffer) - position} bytes at position {position} for a message")
    offset, length, crc, magic, attributes = _HEAD.unpack_from(buffer, position)
    if magic not in (0, 1):
        raise corrupt(f"magic {magic} at position {position}, want 0 or 1")
    end = position + ENTRY_HEAD + length
    if length < SMALLEST_MESSAGE + 8 * magic or end > len(buffer):
        raise corrupt(f"message of {length} bytes at position {position} of {len(buffer)}")
    at = position + _HEAD.size
    timestamp = NO_TIMESTAMP
    if magic:
        (timestamp,) = _LONG.unpack_from(buffer, at)
        at += _LONG.size
    key, at = _read_bytes(buffer, at, end)
    value, at = _read_bytes(buffer, at, end)
    if at != end:
        raise corrupt(f"{end - at} bytes after the value of the message at {position}")
    return LegacyMessage(
        offset=offset,
        length=length,
        crc=crc,
        magic=magic,
        attributes=attributes,
        timestamp=timestamp,
        key=key,
        value=value,
    )


def _read_bytes(buffer: Buffer, at: int, end: int) -> tuple[bytes | None, int]:
    if at + _INT.size > end:
        raise corrupt(f"a length at byte {at} of a message that ends at {end}")
    (size,) = _INT.unpack_from(buffer, at)
    at += _INT.size
    if size < -1 or at + size > end:
        raise corrupt(f"{size} bytes at byte {at} of a message that ends at {end}")
    if size < 0:
        return None, at
    return bytes(memoryview(buffer)[at : at + size]), at + size


def message_crc(buffer: Buffer, position: int, message: LegacyMessage) -> int:
    """Compute the CRC-32 of a whole message."""
    return crc32(memoryview(buffer)[position + _CRC_FROM : position + message.size])


def read_legacy_records(
    message: LegacyMessage, limit: int = DECOMPRESSED_LIMIT
) -> Iterator[Record]:
    """Yield the records of a message: itself, or those that it wraps.

    limit: bytes of the decompressed set. Raises KafkaError(CORRUPT_MESSAGE): also for a wrapper in
    a wrapper, and for offsets that do not ascend.
    """
    codec = message.codec
    if codec is Codec.NONE:
        yield _record(message, message.offset, message.timestamp)
        return
    if message.value is None:
        raise corrupt(f"wrapper at offset {message.offset} without a value")
    packed = message.value
    if codec is Codec.LZ4 and not message.magic:
        packed = _repair_lz4(packed)
    inner = list(_messages(decompress(codec, packed, limit)))
    if not inner:
        raise corrupt(f"wrapper at offset {message.offset} without messages")
    shift = message.offset - inner[-1].offset if message.magic else 0
    before = -1
    for entry in inner:
        if entry.magic != message.magic or entry.attributes & CODEC_MASK:
            raise corrupt(f"wrapper at offset {message.offset} with another one, or another magic")
        if not before < entry.offset + shift <= message.offset:
            raise corrupt(f"offset {entry.offset + shift} after {before} in a wrapper")
        before = entry.offset + shift
        time = message.timestamp if message.is_log_append_time else entry.timestamp
        yield _record(entry, before, time)


def _messages(data: bytes) -> Iterator[LegacyMessage]:
    position = 0
    while position < len(data):
        message = read_message(data, position)
        yield message
        position += message.size


def _record(message: LegacyMessage, offset: int, timestamp: int) -> Record:
    return Record(offset=offset, timestamp=timestamp, key=message.key, value=message.value)


def _repair_lz4(packed: bytes) -> bytes:
    """Return an LZ4 frame with the header checksum that its format demands.

    In magic 0 the checksum covers the frame's magic too, which decompressors refuse (KIP-57).
    """
    if len(packed) < 7 or packed[:4] != _LZ4_MAGIC:
        return packed
    end = 6 + (8 if packed[4] & 0x08 else 0) + (4 if packed[4] & 0x01 else 0)
    if len(packed) <= end:
        return packed
    checksum = _xxh32(packed[4:end]) >> 8 & 0xFF
    return b"".join((packed[:end], bytes((checksum,)), packed[end + 1 :]))


def _xxh32(data: bytes) -> int:
    """Compute xxHash32 with seed 0 of fewer than 16 bytes."""
    value = 374761393 + len(data)
    words = len(data) // 4 * 4
    for at in range(0, words, 4):
        value = value + int.from_bytes(data[at : at + 4], "little") * 3266489917 & _MASK
        value = (value << 17 & _MASK | value >> 15) * 668265263 & _MASK
    for byte in data[words:]:
        value = value + byte * 374761393 & _MASK
        value = (value << 11 & _MASK | value >> 21) * 2654435761 & _MASK
    value = (value ^ value >> 15) * 2246822519 & _MASK
    value = (value ^ value >> 13) * 3266489917 & _MASK
    return value ^ value >> 16
