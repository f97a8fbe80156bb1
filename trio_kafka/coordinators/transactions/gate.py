"""Gate of the leaders of partitions: asks the coordinator before a transactional batch is appended.

Source: AddPartitionsToTxnManager of Apache Kafka 4.4.0; KIP-890.
"""

from collections.abc import Mapping
from functools import partial

from trio_kafka.coordinators.shards.coordinator import Coordinator
from trio_kafka.coordinators.transactions.adding import (
    TransactionPartitions,
    add_partitions,
    verify_partitions,
)
from trio_kafka.coordinators.transactions.transaction import RENEWING_VERSION, ProducerIdentity
from trio_kafka.coordinators.transactions.transactions import Transactions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.replication.leader.transaction_gate import TransactionAsk

WAIT = "TransactionGate"  # purgatory
Verdicts = Mapping[TopicPartition, ErrorCode]


class CoordinatorGate:
    """Gate of a broker that coordinates the transactional ids itself. See `TransactionGate`."""

    def __init__(self, coordinator: Coordinator[Transactions]) -> None:
        self._coordinator = coordinator

    def admit(self, ask: TransactionAsk) -> Eventual[Verdicts]:
        """Add or verify the partitions. Each verdict waits for the record that it rests on, as it
        is the answer of an event of the shard.
        """
        request = TransactionPartitions(
            transactional_id=ask.transactional_id,
            identity=ProducerIdentity(ask.producer_id, ask.producer_epoch),
            partitions=ask.partitions,
            version=RENEWING_VERSION if ask.adds else 0,
        )
        event = partial(add_partitions if ask.adds else verify_partitions, request)
        answer: Eventual[Verdicts | KafkaError | None]
        answer = self._coordinator.ask(ask.transactional_id, event, WAIT)
        return then(answer, partial(_verdicts, ask))


def _verdicts(ask: TransactionAsk, answer: Verdicts | KafkaError | None) -> Verdicts:
    if isinstance(answer, KafkaError):
        return dict.fromkeys(ask.partitions, answer.code)
    return {} if answer is None else answer
