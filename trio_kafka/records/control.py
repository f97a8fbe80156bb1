"""Control records: records of a broker in partitions, beside those of clients.

A control batch has its attribute bit; key and value of its records are messages of Kafka's own.
Transaction markers (ABORT, COMMIT) are in topic partitions, one in a batch. The other types belong
to KRaft. Their values, messages of `protocol.stored` without a length or version in front, are
bytes here.
Source: KIP-98, KIP-595, KIP-630, KIP-853; tested on logs that Kafka wrote.
"""

import struct
from enum import IntEnum
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.records.batch import BatchBody, ProducerFields, Record, close_batch, encode_batch
from trio_kafka.records.header import CONTROL, TRANSACTIONAL, BatchHeader, corrupt


class ControlType(IntEnum):
    """Type of a control record: the second number of its key."""

    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6


@frozen(kw_only=True)
class Marker:
    """End of a producer's transaction in one partition."""

    committed: bool
    coordinator_epoch: int


_KEY: Final = struct.Struct(">hh")
_MARKER: Final = struct.Struct(">hi")
_VERSION: Final = struct.Struct(">h")
_TYPES: Final = {int(kind): kind for kind in ControlType}


def control_type(record: Record) -> ControlType | None:
    """Return the type of a record of a control batch; None: an unknown one, to be skipped.

    Raises KafkaError(CORRUPT_MESSAGE) for an invalid key. Keys may be longer in higher versions.
    """
    if record.key is None or len(record.key) < _KEY.size:
        raise corrupt(f"control record at {record.offset} with key {record.key!r}")
    version, kind = _KEY.unpack_from(record.key)
    if version < 0:
        raise corrupt(f"control record at {record.offset} with version {version}")
    return _TYPES.get(kind)


def control_record(kind: ControlType, value: bytes, timestamp: int) -> Record:
    """Make a record for `encode_control_batch`."""
    return Record(key=_KEY.pack(0, kind), value=value, timestamp=timestamp)


def encode_control_batch(
    records: list[Record], base_offset: int = 0, leader_epoch: int = -1
) -> bytes:
    """Encode a batch of KRaft's control records: no producer, no codec."""
    return encode_batch(records, base_offset, leader_epoch, attributes=CONTROL)


def encode_marker(
    marker: Marker, *, producer_id: int, producer_epoch: int, timestamp: int
) -> tuple[bytearray, BatchHeader]:
    """Encode the batch of 78 bytes that ends a transaction. Return it with its header."""
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    body = BatchBody()
    body.add(control_record(kind, _MARKER.pack(0, marker.coordinator_epoch), timestamp))
    producer = ProducerFields(producer_id, producer_epoch)
    return close_batch(body, producer=producer, attributes=TRANSACTIONAL | CONTROL)


def value_version(record: Record) -> int:
    """Return the version with which each value of types 2 to 6 begins."""
    if record.value is None or len(record.value) < _VERSION.size:
        raise corrupt(f"control record at {record.offset} with value {record.value!r}")
    (version,) = _VERSION.unpack_from(record.value)
    return int(version)


def read_marker(record: Record) -> Marker | None:
    """Return the transaction marker in a control record; None for other types."""
    kind = control_type(record)
    if kind is not ControlType.ABORT and kind is not ControlType.COMMIT:
        return None
    if record.value is None or len(record.value) < _MARKER.size:
        raise corrupt(f"transaction marker at {record.offset} with value {record.value!r}")
    version, coordinator_epoch = _MARKER.unpack_from(record.value)
    if version < 0:
        raise corrupt(f"transaction marker at {record.offset} with version {version}")
    return Marker(committed=kind is ControlType.COMMIT, coordinator_epoch=coordinator_epoch)
