"""Headers of what a segment may hold: batches of magic 2, and messages of magic 0 and 1.

Apache Kafka wrote messages until 0.10. A broker never converts them: it finds them by offset and
time, checks their CRC after a crash, and serves them as they are. So a message, or the wrapper of a
compressed set, is described like a batch. The first offset in a wrapper is only known after
decompression; its header has the last offset alone.
"""

import struct
from collections.abc import Iterator
from typing import Final

from trio_kafka.records.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    MAGIC,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    BatchHeader,
    check_crc,
    corrupt,
    read_header,
)
from trio_kafka.records.legacy import (
    ENTRY_HEAD,
    MAGIC_AT,
    SMALLEST_MESSAGE,
    message_crc,
    read_message,
)
from trio_kafka.world.protocols import Buffer

SMALLEST_STORED: Final = ENTRY_HEAD + SMALLEST_MESSAGE
_HEAD: Final = struct.Struct(">qiIbb")
_TIME: Final = struct.Struct(">q")
_SIZE: Final = struct.Struct(">i")


def is_legacy(magic: int) -> bool:
    """Return whether this is the magic of a message."""
    return 0 <= magic < MAGIC


def message_fits(buffer: Buffer, position: int) -> bool:
    """Return whether the sizes in a message agree, as far as the buffer has them.

    A batch with a damaged magic must not be taken for a message: a reader would pass over it.
    """
    (length,) = _SIZE.unpack_from(buffer, position + 8)
    remaining: int = length - SMALLEST_MESSAGE - 8 * buffer[position + MAGIC_AT]  # of key and value
    at = position + _HEAD.size + 8 * buffer[position + MAGIC_AT]
    for _ in range(2):
        if remaining < 0 or at + _SIZE.size > len(buffer):
            return remaining >= 0
        size = max(_SIZE.unpack_from(buffer, at)[0], 0)
        remaining -= size
        at += _SIZE.size + size
    return remaining == 0


def read_stored_header(buffer: Buffer, position: int = 0) -> BatchHeader:
    """Read the header at `position`, as `read_header` does, or describe a message like a batch.

    The records may end outside of the buffer. Raises KafkaError(CORRUPT_MESSAGE).
    """
    if len(buffer) - position > MAGIC_AT and buffer[position + MAGIC_AT] < MAGIC:  # often called
        return _header_of(buffer, position)
    return read_header(buffer, position)


def _header_of(buffer: Buffer, position: int) -> BatchHeader:
    if len(buffer) - position < SMALLEST_STORED or not message_fits(buffer, position):
        raise corrupt(f"no batch and no message at position {position}")
    offset, length, crc, magic, attributes = _HEAD.unpack_from(buffer, position)
    timestamp = NO_TIMESTAMP
    if magic:
        (timestamp,) = _TIME.unpack_from(buffer, position + _HEAD.size)
    return BatchHeader(
        base_offset=offset,
        length=length,
        leader_epoch=NO_EPOCH,
        magic=magic,
        crc=crc,
        attributes=attributes & (CODEC_MASK | (LOG_APPEND_TIME if magic else 0)),
        last_offset_delta=0,
        base_timestamp=timestamp,
        max_timestamp=timestamp,
        producer_id=NO_PRODUCER_ID,
        producer_epoch=NO_EPOCH,
        base_sequence=NO_SEQUENCE,
        count=1,
    )


def iterate_stored_headers(buffer: Buffer, position: int = 0) -> Iterator[tuple[int, BatchHeader]]:
    """Yield position and header of each whole batch or message from `position` on.

    One that the buffer cuts short is left out. Raises as `read_stored_header`.
    """
    size = len(buffer)
    while size - position >= SMALLEST_STORED:
        if size - position < HEADER_SIZE and not is_legacy(buffer[position + MAGIC_AT]):
            return
        header = read_stored_header(buffer, position)
        if header.length > size - position - ENTRY_HEAD:
            return
        yield position, header
        position += header.length + ENTRY_HEAD


def check_stored_crc(buffer: Buffer, position: int, header: BatchHeader) -> None:
    """Raise KafkaError(CORRUPT_MESSAGE) unless batch or message is whole and matches its CRC."""
    if header.magic == MAGIC:
        check_crc(buffer, position, header)
        return
    message = read_message(buffer, position)
    actual = message_crc(buffer, position, message)
    if actual != header.crc:
        raise corrupt(f"crc {actual:08x} of the message at {position}, want {header.crc:08x}")
