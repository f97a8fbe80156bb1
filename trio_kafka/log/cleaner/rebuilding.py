"""A batch that loses records, or whose tombstones get their time: encoded anew.

Base offset, last offset, producer, sequence and leader epoch stay, so that offsets and sequences
have no gap for readers and for producers. The records keep their bytes, relative to an unchanged
base timestamp. Only when the delete horizon takes the place of the base timestamp are the
timestamps of all records encoded anew, once in the life of a batch.
Source: KIP-98, KIP-534.
"""

from typing import Final

from crc32c import crc32c

from trio_kafka.records.header import (
    CONTROL,
    COVERED,
    DELETE_HORIZON,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME,
    MAGIC,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    UNCOVERED,
    BatchHeader,
)
from trio_kafka.records.varint import encode_varint, read_varint
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Buffer

STEP: Final = 256
_LARGEST: Final = (1 << 63) - 1
_KEPT_EMPTY: Final = LOG_APPEND_TIME | TRANSACTIONAL | CONTROL


def rebuilt(
    header: BatchHeader,
    block: Buffer,
    *,
    count: int,
    max_timestamp: int,
    delete_horizon: int | None = None,
) -> tuple[BatchHeader, bytes]:
    """Return a batch with the records in `block`, which are compressed by the batch's codec.

    delete_horizon: set it; None: keep that of the batch, or none.
    """
    attributes, base_timestamp = header.attributes, header.base_timestamp
    if delete_horizon is not None:
        attributes |= DELETE_HORIZON
        base_timestamp = delete_horizon
    return _assembled(
        header, block, attributes, timestamps=(base_timestamp, max_timestamp), count=count
    )


def emptied(header: BatchHeader) -> tuple[BatchHeader, bytes]:
    """Return a batch without its records, which keeps offsets and the state of its producer."""
    attributes = header.attributes & _KEPT_EMPTY
    return _assembled(
        header, b"", attributes, timestamps=(NO_TIMESTAMP, header.max_timestamp), count=0
    )


def _assembled(
    header: BatchHeader,
    block: Buffer,
    attributes: int,
    *,
    timestamps: tuple[int, int],
    count: int,
) -> tuple[BatchHeader, bytes]:
    fields = (
        attributes,
        header.last_offset_delta,
        *timestamps,
        header.producer_id,
        header.producer_epoch,
        header.base_sequence,
        count,
    )
    covered = COVERED.pack(*fields)
    crc = int(crc32c(block, crc32c(covered)))
    length = HEADER_SIZE - LENGTH_END + len(block)
    uncovered = (header.base_offset, length, header.leader_epoch, MAGIC, crc)
    new = BatchHeader(*uncovered, *fields)
    return new, b"".join((UNCOVERED.pack(*uncovered), covered, block))


def horizon_after(now_ms: int, delete_retention_ms: int) -> int:
    """Return when tombstones may go that were first cleaned now."""
    return min(now_ms + delete_retention_ms, _LARGEST)


def shifted(
    content: Buffer, count: int, header: BatchHeader, *, base_timestamp: int
) -> Steps[bytes]:
    """Return records, which were checked, relative to another base timestamp.

    With the append time of the log the deltas do not matter, and stay. A step is STEP records.
    """
    if header.is_log_append_time:
        return bytes(content)
    data = bytes(content)
    by = header.base_timestamp - base_timestamp
    parts: list[bytes] = []
    at = 0
    for number in range(1, count + 1):
        length, at = read_varint(data, at)
        end = at + length
        delta, rest = read_varint(data, at + 1)
        later = wrapped(delta + by)
        encoded = encode_varint(later)
        parts += (
            encode_varint(1 + len(encoded) + end - rest),
            data[at : at + 1],
            encoded,
            data[rest:end],
        )
        at = end
        if not number % STEP:
            yield
    return b"".join(parts)


def wrapped(number: int) -> int:
    """Return a number of 64 bits; hostile timestamps exceed them."""
    return (number + (1 << 63)) % (1 << 64) - (1 << 63)
