"""Transactions in which a broker under test writes records itself, without a client.

Each begins as a new producer of its transactional id would: an earlier producer of that id is
fenced, its open transaction is aborted, and sequences begin at 0. One that its coordinator has
ended since, because of a newer producer or its timeout, is forgotten with the error that says so.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.broker import RunningBroker
from trio_kafka.controls.ask import ask, ask_when_loaded, check
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.records.batch import ProducerFields

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_COORDINATOR_S: Final = 30.0
_PAUSE_S: Final = 0.005
_TIMEOUT_MS: Final = 60_000
# Last versions of Kafka's older protocol, in which clients add partitions themselves: every broker
# speaks it, one that acts as an older release in lower versions.
_ADD_PARTITIONS: Final = 3
_END: Final = 4
_PASSING: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)
# The coordinator has ended the transaction: no later request of its producer can succeed.
_ENDED: Final = frozenset(
    {
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


@define(eq=False)
class OpenTransaction:
    """Transaction of the kit. sequences: the next one of each partition."""

    transactional_id: str
    producer_id: int
    epoch: int
    sequences: dict[TopicPartition, int] = field(factory=dict)

    def next_fields(self, at: TopicPartition, count: int) -> ProducerFields:
        """Return the producer's fields for the next batch of a partition, of `count` records."""
        sequence = self.sequences.get(at, 0)
        self.sequences[at] = sequence + count
        return ProducerFields(self.producer_id, self.epoch, sequence)

    async def add(self, broker: RunningBroker, topic: str, partitions: list[int]) -> None:
        """Add partitions to the transaction. Raises KafkaError."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(topic, partitions)],
        )
        answer = await ask(broker, request, at_most=_ADD_PARTITIONS)
        for row in answer.results_by_topic_v3_and_below[0].results_by_partition:
            check(row.partition_error_code, self.transactional_id)


@define(eq=False)
class KitTransactions:
    """Open transactions of the kit, by transactional id."""

    _open: dict[str, OpenTransaction] = field(factory=dict, init=False)

    async def begin(self, broker: RunningBroker, transactional_id: str) -> OpenTransaction:
        """Return the open transaction of an id; begin one if there is none. Raises KafkaError."""
        transaction = self._open.get(transactional_id)
        if transaction is None:
            await _wait_for_coordinator(broker, transactional_id)
            request = InitProducerIdRequest(transactional_id, _TIMEOUT_MS)
            answer = await ask_when_loaded(broker, request, passing=_PASSING)
            check(answer.error_code, transactional_id)
            transaction = self._open[transactional_id] = OpenTransaction(
                transactional_id, answer.producer_id, answer.producer_epoch
            )
        return transaction

    @contextmanager
    def using(self, transaction: OpenTransaction) -> Iterator[None]:
        """Forget a transaction if a request of the block shows that it has ended meanwhile."""
        try:
            yield
        except KafkaError as error:
            is_open = self._open.get(transaction.transactional_id) is transaction
            if is_open and error.code in _ENDED:
                del self._open[transaction.transactional_id]
            raise

    async def abort_all(self, broker: RunningBroker) -> None:
        """Abort and forget all open transactions, as far as they have not ended yet."""
        await trio.lowlevel.checkpoint()
        for transactional_id in list(self._open):
            # An error means that it has ended, or ends with its timeout.
            with suppress(KafkaError):
                await self.end(broker, transactional_id, commit=False)

    async def end(self, broker: RunningBroker, transactional_id: str, *, commit: bool) -> None:
        """End the open transaction of an id; its markers are written soon afterwards.

        Raises KafkaError(INVALID_TXN_STATE) if the kit has none.
        """
        transaction = self._open.pop(transactional_id, None)
        if transaction is None:
            raise KafkaError(
                ErrorCode.INVALID_TXN_STATE,
                f"no open transaction of {transactional_id!r}: want an earlier"
                f" produce(..., transactional_id={transactional_id!r})",
            )
        request = EndTxnRequest(
            transactional_id, transaction.producer_id, transaction.epoch, commit
        )
        answer = await ask_when_loaded(broker, request, at_most=_END, passing=_PASSING)
        check(answer.error_code, transactional_id)


async def _wait_for_coordinator(broker: RunningBroker, transactional_id: str) -> None:
    """Wait until the partition of an id has a leader; the first call has its topic created.

    FindCoordinator would need a listener, which a request from within does not have.
    """
    topic = broker.parts[TransactionCoordinator].topic
    with trio.move_on_after(_COORDINATOR_S):
        while True:
            try:
                topic.leader_of(transactional_id)
            except KafkaError:
                await trio.sleep(_PAUSE_S)
            else:
                return
