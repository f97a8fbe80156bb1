"""Format of `<offset>.snapshot`: the producers of a log as they were before `offset`.

A snapshot holds only the last batch of a producer, so older duplicates are not recognized after a
restart.
Source: Kafka's snapshot format, version 1.
"""

from struct import Struct
from typing import Final, NamedTuple

from crc32c import crc32c

from trio_kafka.log.producer_rows import ENTRY
from trio_kafka.log.producer_state import NO_OFFSET, ProducedBatch, Producer, ProducerState
from trio_kafka.records.header import NO_SEQUENCE
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Buffer

HEAD: Final = Struct(">hIi")
CRC_FROM: Final = 6  # first byte that the checksum covers
_COUNT: Final = Struct(">i")
_VERSION: Final = 1
_LAST_SEQUENCE: Final = (1 << 31) - 1
_STEP: Final = 256  # producers in a step: some 3 µs each


class CorruptSnapshotError(Exception):
    """Raised for an incomplete snapshot. The load uses an older one, and the log from there."""


class StoredProducer(NamedTuple):
    """One entry, in the order of its fields."""

    producer_id: int
    epoch: int
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int
    coordinator_epoch: int
    first_offset: int

    @property
    def first_sequence(self) -> int:
        """First sequence of the last batch; NO_SEQUENCE: it has none."""
        if self.last_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return (self.last_sequence - self.offset_delta) & _LAST_SEQUENCE

    @property
    def transaction_first_offset(self) -> int | None:
        """First offset of the open transaction; None: none is open."""
        return None if self.first_offset == NO_OFFSET else self.first_offset


def check_head(head: Buffer, size: int) -> int:
    """Check the begin of a snapshot of `size` bytes. Return the checksum of the bytes from CRC_FROM
    on. Raises CorruptSnapshotError.
    """
    if len(head) < HEAD.size:
        raise CorruptSnapshotError(f"{size} bytes, want {HEAD.size} or more")
    version, crc, count = HEAD.unpack_from(head)
    if version != _VERSION:
        raise CorruptSnapshotError(f"version {version}, want {_VERSION}")
    expected = HEAD.size + count * ENTRY.size
    if size != expected:
        raise CorruptSnapshotError(f"{size} bytes for {count} producers, want {expected}")
    return int(crc)


def check_crc(crc: int, expected: int) -> None:
    """Raise CorruptSnapshotError for another checksum."""
    if crc != expected:
        raise CorruptSnapshotError(f"crc {crc:08x}, want {expected:08x}")


def encode(state: ProducerState) -> bytes:
    """Return the content of a snapshot of all producers.

    Cheap for any number: 1 ms for a million, as their rows are packed before, see `ProducerRows`.
    """
    rows, count = state.rows(), len(state)
    crc = crc32c(rows, crc32c(_COUNT.pack(count)))
    return HEAD.pack(_VERSION, crc, count) + rows


def decode(content: bytes) -> Steps[ProducerState]:
    """Read the producers of a snapshot, in steps of 1 ms. Raises CorruptSnapshotError."""
    check_crc(crc32c(content[CRC_FROM:]), check_head(content, len(content)))
    state = ProducerState()
    for number, fields in enumerate(ENTRY.iter_unpack(content[HEAD.size :]), 1):
        stored = StoredProducer(*fields)
        batch = ProducedBatch(
            first_sequence=stored.first_sequence,
            last_sequence=stored.last_sequence,
            last_offset=stored.last_offset,
            offset_delta=stored.offset_delta,
            timestamp=stored.timestamp,
        )
        state.restore(
            Producer(
                producer_id=stored.producer_id,
                epoch=stored.epoch,
                batches=[batch] if stored.last_offset != NO_OFFSET else [],
                timestamp=stored.timestamp,
                coordinator_epoch=stored.coordinator_epoch,
                transaction_first_offset=stored.transaction_first_offset,
            )
        )
        if not number % _STEP:
            yield
    return state
