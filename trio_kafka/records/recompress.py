"""Recompression of a batch: its records are decompressed and compressed as one block."""

from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.compression import Codec, compress, decompress
from trio_kafka.records.header import (
    CODEC_MASK,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    BatchHeader,
    checksum,
    read_header,
)


def recompress(
    batch: memoryview,
    header: BatchHeader,
    codec: Codec,
    level: int | None = None,
    *,
    limit: int = DECOMPRESSED_LIMIT,
) -> tuple[memoryview, BatchHeader]:
    """Return the whole batch with `codec`, writable, and its header. Size, codec and CRC change.

    Raises KafkaError(CORRUPT_MESSAGE) for records that cannot be decompressed, or exceed `limit`.
    """
    plain = decompress(header.codec, batch[HEADER_SIZE : header.size], limit)
    return repacked(batch, header, codec, compress(codec, plain, level))


def repacked(
    batch: memoryview, header: BatchHeader, codec: Codec, data: bytes
) -> tuple[memoryview, BatchHeader]:
    """Return the batch with `data`, its records compressed by `codec`; see `recompress`."""
    changed = bytearray(batch[:HEADER_SIZE])
    changed += data
    fields = list(HEADER.unpack_from(changed))
    fields[1] = HEADER_SIZE - LENGTH_END + len(data)
    fields[5] = header.attributes & ~CODEC_MASK | codec
    HEADER.pack_into(changed, 0, *fields)
    fields[4] = checksum(changed, 0, read_header(changed))
    HEADER.pack_into(changed, 0, *fields)
    return memoryview(changed), read_header(changed)
