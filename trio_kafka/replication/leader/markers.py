"""Writer of transaction markers, as the transaction coordinator sees it.

Source: KIP-98, KIP-890; Kafka's WriteTxnMarkers request.
"""

from collections.abc import Mapping
from typing import Protocol

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual


@frozen(kw_only=True)
class TransactionMarker:
    """End of one producer's transaction in several partitions.

    producer_epoch: that of the marker, which is newer than that of the transaction's batches under
        transaction version 2. coordinator_epoch: leader epoch of the coordinator's partition.
    transaction_version: 2 demands a newer epoch; 0 and 1 do not.
    """

    producer_id: int
    producer_epoch: int
    coordinator_epoch: int
    is_commit: bool
    transaction_version: int
    partitions: tuple[TopicPartition, ...]


class Markers(Protocol):
    """Writer of markers in the partitions that are led here, `__consumer_offsets` included."""

    def write(self, marker: TransactionMarker) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        """Append the marker to each of its partitions. Return the error of every partition.

        ErrorCode.NONE: committed. NOT_LEADER_OR_FOLLOWER and UNKNOWN_TOPIC_OR_PARTITION: not led
        here, ask another broker. INVALID_PRODUCER_EPOCH and TRANSACTION_COORDINATOR_FENCED: never
        accepted. Others are worth a retry. Never raises KafkaError.
        """
