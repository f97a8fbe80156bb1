"""Batches with any header, also those that only coordinators, leaders and cleaners write."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from trio_kafka.records import leaf as leaf_module
from trio_kafka.records.batch import BatchBody, ProducerFields, Record
from trio_kafka.records.batch import encode_batch as encode
from trio_kafka.records.compression import Codec
from trio_kafka.records.control import ControlType, Marker, control_record
from trio_kafka.records.header import CONTROL, DELETE_HORIZON, LOG_APPEND_TIME, TRANSACTIONAL


def encode_batch(
    records: Iterable[Record],
    base_offset: int = 0,
    leader_epoch: int = -1,
    *,
    codec: Codec = Codec.NONE,
    level: int | None = None,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    transactional: bool = False,
    control: bool = False,
    append_time_ms: int | None = None,
    delete_horizon_ms: int | None = None,
    last_offset: int | None = None,
) -> bytes:
    """A batch whose fields are named. last_offset: compaction may have removed the last records."""
    body = BatchBody(base_offset=base_offset, base_timestamp=delete_horizon_ms)
    for record in records:
        body.add(record)
    attributes = TRANSACTIONAL * transactional | CONTROL * control
    if append_time_ms is not None:
        attributes |= LOG_APPEND_TIME
        body.max_timestamp = append_time_ms
    if delete_horizon_ms is not None:
        attributes |= DELETE_HORIZON
    if last_offset is not None:
        body.last_delta = last_offset - base_offset
    return encode(
        body,
        base_offset,
        leader_epoch,
        codec=codec,
        level=level,
        producer=ProducerFields(producer_id, producer_epoch, base_sequence),
        attributes=attributes,
    )


def encode_marker(
    marker: Marker, *, producer_id: int, producer_epoch: int, timestamp: int, base_offset: int = 0
) -> bytes:
    """The batch of 78 bytes that ends a transaction."""
    kind = ControlType.COMMIT if marker.committed else ControlType.ABORT
    value = b"\0\0" + marker.coordinator_epoch.to_bytes(4, "big")
    return encode(
        [control_record(kind, value, timestamp)],
        base_offset,
        producer=ProducerFields(producer_id, producer_epoch),
        attributes=TRANSACTIONAL | CONTROL,
    )


@contextmanager
def twin() -> Iterator[None]:
    """Run the Python twin in the block, although the compiled leaf is installed."""
    compiled, leaf_module._leaf = leaf_module._leaf, None
    try:
        yield
    finally:
        leaf_module._leaf = compiled
