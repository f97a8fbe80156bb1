"""Format of `<offset>.snapshot`: the producers of a log as they were before `offset`.

A snapshot holds only the last batch of a producer, so older duplicates are not recognized after a
restart.
Source: Kafka's snapshot format, version 1.
"""

from struct import Struct, error
from typing import Final

from crc32c import crc32c

from trio_kafka.log.producer_rows import ENTRY
from trio_kafka.log.producer_state import NO_OFFSET, ProducedBatch, Producer, ProducerState
from trio_kafka.records.header import NO_SEQUENCE
from trio_kafka.scheduling.chunked_work import Steps

HEAD: Final = Struct(">hIi")
_COUNT: Final = Struct(">i")
_VERSION: Final = 1
_CRC_FROM: Final = 6
_LAST_SEQUENCE: Final = (1 << 31) - 1
_STEP: Final = 256  # producers in a step: some 3 µs each


class CorruptSnapshotError(Exception):
    """Raised for an incomplete snapshot. The load uses an older one, and the log from there."""


def encode(state: ProducerState) -> bytes:
    """Return the content of a snapshot of all producers.

    Cheap for any number: 1 ms for a million, as their rows are packed before, see `ProducerRows`.
    """
    rows, count = state.rows(), len(state)
    crc = crc32c(rows, crc32c(_COUNT.pack(count)))
    return HEAD.pack(_VERSION, crc, count) + rows


def decode(content: bytes) -> Steps[ProducerState]:
    """Read the producers of a snapshot, in steps of 1 ms. Raises CorruptSnapshotError."""
    try:
        version, crc, count = HEAD.unpack_from(content)
    except error:
        raise CorruptSnapshotError(f"{len(content)} bytes, want {HEAD.size} or more") from None
    if version != _VERSION:
        raise CorruptSnapshotError(f"version {version}, want {_VERSION}")
    if len(content) != HEAD.size + count * ENTRY.size or crc32c(content[_CRC_FROM:]) != crc:
        raise CorruptSnapshotError(f"{len(content)} bytes for {count} entries, or a wrong CRC")
    state = ProducerState()
    for number, row in enumerate(ENTRY.iter_unpack(content[HEAD.size :]), 1):
        producer_id, epoch, sequence, offset, delta, timestamp, coordinator_epoch, first = row
        batch = ProducedBatch(
            first_sequence=NO_SEQUENCE
            if sequence == NO_SEQUENCE
            else (sequence - delta) & _LAST_SEQUENCE,
            last_sequence=sequence,
            last_offset=offset,
            offset_delta=delta,
            timestamp=timestamp,
        )
        state.restore(
            Producer(
                producer_id=producer_id,
                epoch=epoch,
                batches=[batch] if offset != NO_OFFSET else [],
                timestamp=timestamp,
                coordinator_epoch=coordinator_epoch,
                transaction_first_offset=None if first == -1 else first,
            )
        )
        if not number % _STEP:
            yield
    return state
