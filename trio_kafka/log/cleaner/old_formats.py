"""Messages of formats 0 and 1 in the logs of old brokers: copied as they are, never compacted.

Each is one entry with an offset and a size, as a batch has; a compressed one holds several records
and has the offset of the last one. Its header is given in the form of a batch's, so that offsets
and timestamps are indexed in the same way.
Source: Kafka's message sets, KIP-32.
"""

import struct
import zlib
from typing import Final

from trio_kafka.records.header import (
    LENGTH_END,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    corrupt,
)
from trio_kafka.world.protocols import Buffer

SMALLEST: Final = 26  # bytes of an entry in format 0, with its offset and its size
MAGIC_AT: Final = 16  # as in a batch
_HEAD: Final = struct.Struct(">qiIb")
_TIMESTAMP: Final = struct.Struct(">q")
_TIMESTAMP_AT: Final = 18


def is_old(buffer: Buffer, position: int) -> bool:
    """Return whether an entry of these formats begins at `position`, SMALLEST bytes before the end
    of the buffer or earlier. Zeros do not look like one.
    """
    length = int.from_bytes(buffer[position + 8 : position + LENGTH_END], "big", signed=True)
    return buffer[position + MAGIC_AT] in (0, 1) and length >= SMALLEST - LENGTH_END


def read_old(buffer: Buffer, position: int) -> BatchHeader | None:
    """Read an entry, and compare its checksum; None: the buffer ends before it.

    `count` is 1, also for a compressed one. Raises KafkaError(CORRUPT_MESSAGE).
    """
    offset, length, crc, magic = _HEAD.unpack_from(buffer, position)
    end = position + LENGTH_END + length
    if end > len(buffer):
        return None
    actual = zlib.crc32(memoryview(buffer)[position + MAGIC_AT : end])
    if actual != crc:
        raise corrupt(f"crc {actual:08x} of the message at position {position}, want {crc:08x}")
    timestamp = NO_TIMESTAMP
    if magic and length >= SMALLEST - LENGTH_END + _TIMESTAMP.size:
        (timestamp,) = _TIMESTAMP.unpack_from(buffer, position + _TIMESTAMP_AT)
    return BatchHeader(
        offset,
        length,
        NO_EPOCH,
        magic,
        crc,
        0,
        0,
        timestamp,
        timestamp,
        NO_PRODUCER_ID,
        NO_EPOCH,
        NO_SEQUENCE,
        1,
    )
