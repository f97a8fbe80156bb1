"""Metadata records of producer ids."""

from trio_kafka.protocol.schema import int32, int64, record


@record(key=15, versions="0", flexible="0+")
class ProducerIdsRecord:
    """End of the allocated producer ids; the last block belongs to this broker."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()
