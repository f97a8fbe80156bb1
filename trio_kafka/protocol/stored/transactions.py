"""Records of the transaction coordinator (topic `__transaction_state`).

An int16 type precedes the key, an int16 version the value; a null value is a tombstone.
"""

from trio_kafka.protocol.schema import array, int8, int16, int32, int64, record, string, struct


@record(key=0, versions="0")
class TransactionLogKey:
    """A transactional id."""

    transactional_id: str = string()


@struct
class PartitionsSchema:
    topic: str = string()
    partition_ids: list[int] = array(int32)


@record(key=0, versions="0-1", flexible="1+")
class TransactionLogValue:
    """State of a transaction and its producer."""

    producer_id: int = int64()
    previous_producer_id: int = int64("1+", tag=0, default=-1)
    next_producer_id: int = int64("1+", tag=1, default=-1)
    producer_epoch: int = int16()
    next_producer_epoch: int = int16("1+", tag=3, default=-1)
    transaction_timeout_ms: int = int32()
    transaction_status: int = int8()
    transaction_partitions: list[PartitionsSchema] | None = array(PartitionsSchema, nullable="0+")
    transaction_last_update_timestamp_ms: int = int64()
    transaction_start_timestamp_ms: int = int64()
    client_transaction_version: int = int16("1+", tag=2)
