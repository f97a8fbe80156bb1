"""Replacement of the records block of a batch by the same records in another codec."""

from trio_kafka.records.compression import Codec
from trio_kafka.records.header import (
    CODEC_MASK,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    BatchHeader,
    checksum,
    read_header,
)


def repacked(
    batch: memoryview, header: BatchHeader, codec: Codec, data: bytes
) -> tuple[memoryview, BatchHeader]:
    """Return the whole batch, writable, with `data`, its records compressed by `codec`.

    header: its other attributes and its largest timestamp are written, too.
    Size, codec and CRC change, and its header, which is returned too.
    """
    changed = bytearray(batch[:HEADER_SIZE])
    changed += data
    fields = list(HEADER.unpack_from(changed))
    fields[1] = HEADER_SIZE - LENGTH_END + len(data)
    fields[5] = header.attributes & ~CODEC_MASK | codec
    fields[8] = header.max_timestamp
    HEADER.pack_into(changed, 0, *fields)
    fields[4] = checksum(changed, 0, read_header(changed))
    HEADER.pack_into(changed, 0, *fields)
    return memoryview(changed), read_header(changed)
