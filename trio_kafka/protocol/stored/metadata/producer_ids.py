"""Metadata records of producer ids."""

from trio_kafka.protocol.schema import int32, int64, record


@record(key=15, versions="0", flexible="0+")
class ProducerIdsRecord:
    """The producer ids below the next one are given away, in blocks, the last to this broker."""

    broker_id: int = int32()
    broker_epoch: int = int64(default=-1)
    next_producer_id: int = int64()
