"""The producers of a partition, as DescribeProducers shows them (KIP-664)."""

from trio_kafka.log.producer_state import Producer as ActiveProducer
from trio_kafka.replication.partition import Partition

__all__ = ["ActiveProducer", "active_producers"]


def active_producers(partition: Partition) -> list[ActiveProducer]:
    """Those that this replica's log knows now, leader or not.

    Raises KafkaError as `Partition.local_log`.
    """
    return list(partition.local_log(leader_only=False).producers)
