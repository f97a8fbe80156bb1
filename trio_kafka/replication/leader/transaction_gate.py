"""Gate before a transactional append: the transaction coordinator admits the partitions, or not.

Without it a late batch could begin a transaction that nothing ends. Replication knows the gate only
by this protocol; the transaction coordinator implements it.
Source: KIP-890, Kafka's AddPartitionsToTxnManager.
"""

from collections.abc import Mapping
from typing import Protocol

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual


@frozen(kw_only=True)
class TransactionAsk:
    """Question of one producer's request, about all partitions that need an answer.

    adds: add the partitions to the transaction (transaction version 2); else verify that they are
        in it. knows_generic_errors: whether the client knows TRANSACTION_ABORTABLE.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    adds: bool
    knows_generic_errors: bool


class TransactionGate(Protocol):
    """Coordinator of transactions, as the leader of a partition sees it."""

    def admit(self, ask: TransactionAsk) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        """Return the partitions that must not be appended to, with the coordinator's own error.

        The verdict waits for the commit of the record that it rests on. Never raises KafkaError:
        an error of the whole question is the error of each partition.
        """
