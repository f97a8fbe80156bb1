"""Gate of the leaders of partitions: asks the coordinator before a transactional batch is appended.

Source: AddPartitionsToTxnManager of Apache Kafka 4.4.0; KIP-890.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Final

from attrs import field

from trio_kafka.attributes import define
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
_REMEMBERED: Final = 1024  # times; Kafka's histogram keeps as many
_MS: Final = 1e3
Verdicts = Mapping[TopicPartition, ErrorCode]


@define(eq=False)
class VerificationTimes:
    """Questions of leaders. failures: partitions that were not admitted. recent_ms: times from the
    question to its verdict, the oldest first.
    """

    count: int = 0
    failures: int = 0
    recent_ms: deque[float] = field(factory=lambda: deque(maxlen=_REMEMBERED))


class CoordinatorGate:
    """Gate of a broker that coordinates the transactional ids itself. See `TransactionGate`.

    times: for metrics.
    """

    def __init__(
        self, coordinator: Coordinator[Transactions], elapsed: Callable[[], float]
    ) -> None:
        """elapsed: seconds of a clock that only grows."""
        self.times = VerificationTimes()
        self._coordinator = coordinator
        self._elapsed = elapsed

    def admit(self, ask: TransactionAsk) -> Eventual[Verdicts]:
        """Add or verify the partitions. Each verdict waits for the record that it rests on, as it
        is the answer of an event of the shard.
        """
        if not ask.transactional_id:
            return dict.fromkeys(ask.partitions, ErrorCode.INVALID_REQUEST)
        request = TransactionPartitions(
            transactional_id=ask.transactional_id,
            identity=ProducerIdentity(ask.producer_id, ask.producer_epoch),
            partitions=ask.partitions,
            version=RENEWING_VERSION if ask.adds else 0,
        )
        event = partial(add_partitions if ask.adds else verify_partitions, request)
        began = self._elapsed()
        answer: Eventual[Verdicts | KafkaError | None]
        answer = self._coordinator.ask(ask.transactional_id, event, WAIT)
        return then(answer, partial(self._verdicts, ask, began))

    def _verdicts(
        self, ask: TransactionAsk, began: float, answer: Verdicts | KafkaError | None
    ) -> Verdicts:
        if isinstance(answer, KafkaError):
            verdicts: Verdicts = dict.fromkeys(ask.partitions, answer.code)
        else:
            verdicts = {} if answer is None else answer
        times = self.times
        times.count += 1
        times.failures += len(verdicts)
        times.recent_ms.append((self._elapsed() - began) * _MS)
        return verdicts
