"""Partitions of a transaction: add them (AddPartitionsToTxn, AddOffsetsToTxn), or verify them.

Source: TransactionCoordinator.handleAddPartitionsToTransaction and
handleVerifyPartitionsInTransaction of Apache Kafka 4.4.0; KIP-98, KIP-890.
"""

from functools import partial

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    ProducerIdentity,
    Transaction,
    added,
)
from trio_kafka.coordinators.transactions.transactions import TIME_OUTS, Transactions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.model import TopicPartition


@frozen(kw_only=True)
class TransactionPartitions:
    """Partitions that a producer names. version: transaction.version that it speaks."""

    transactional_id: str
    identity: ProducerIdentity
    partitions: tuple[TopicPartition, ...]
    version: int = 0


def add_partitions(
    request: TransactionPartitions, machine: Transactions, ticket: Ticket, now_ms: int
) -> Effects:
    """Add partitions to the transaction, which the first ones begin. Answer with None.

    Waits while markers of the transaction before are being written; the answer is
    CONCURRENT_TRANSACTIONS if that takes too long.
    Raises KafkaError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED.
    """
    transaction = _transaction(request, machine)
    if transaction.is_prepared:
        again = partial(add_partitions, request)
        return machine.park(request.transactional_id, again, ticket)
    if transaction.state is TransactionState.ONGOING and transaction.partitions.issuperset(
        request.partitions
    ):
        return Effects().answer(ticket, None)
    after = added(transaction, request.partitions, version=request.version, now_ms=now_ms)
    effects = machine.store(after).answer(ticket, None)
    return effects.set_timer(TIME_OUTS, machine.settings.time_out_check_ms, keep=True)


def verify_partitions(
    request: TransactionPartitions, machine: Transactions, ticket: Ticket, now_ms: int
) -> Effects:
    """Answer with an error for each partition that the transaction does not have, in a dict.

    Raises KafkaError as `add_partitions`; CONCURRENT_TRANSACTIONS while markers are being written.
    """
    del now_ms
    transaction = _transaction(request, machine)
    if transaction.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    missing = [each for each in request.partitions if each not in transaction.partitions]
    return Effects().answer(ticket, dict.fromkeys(missing, ErrorCode.TRANSACTION_ABORTABLE))


def _transaction(request: TransactionPartitions, machine: Transactions) -> Transaction:
    transaction = machine.transaction(request.transactional_id)
    if transaction.producer_id != request.identity.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != request.identity.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    return transaction
