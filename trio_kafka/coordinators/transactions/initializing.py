"""InitProducerId with a transactional id: a producer gets the next epoch, and earlier ones are
fenced.

A producer that names its id and epoch continues after an error, and may repeat a request whose
answer it never got (KIP-360). An open transaction is aborted first; the client is told to come
back. Source: TransactionCoordinator.prepareInitProducerIdTransit of Apache Kafka 4.4.0.
"""

from enum import Enum
from typing import Final, Self

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.transactions.ending import fence
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    NO_EPOCH,
    ProducerIdentity,
    Transaction,
    begun,
    is_last_epoch,
)
from trio_kafka.coordinators.transactions.transactions import Transactions
from trio_kafka.errors import ErrorCode, KafkaError


class NewId(Enum):
    """Answer of an event that needs a producer id: ask again with one."""

    NEEDED = "needed"


NEEDS_PRODUCER_ID: Final = NewId.NEEDED


@frozen(kw_only=True)
class Initialization:
    """Request for a producer. expected: id and epoch that it has already, or None. new_producer_id:
    an id for the case that one is needed, or None.
    """

    transactional_id: str
    timeout_ms: int
    expected: ProducerIdentity | None = None
    new_producer_id: int | None = None

    def with_id(self, producer_id: int) -> Self:
        """Return the request with an id in case that one is needed."""
        return evolve(self, new_producer_id=producer_id)


def initialize(
    request: Initialization, machine: Transactions, ticket: Ticket, now_ms: int
) -> Effects:
    """Answer with the ProducerIdentity, or with NEEDS_PRODUCER_ID.

    Raises KafkaError: PRODUCER_FENCED; CONCURRENT_TRANSACTIONS while a transaction is being ended.
    """
    transaction = machine.by_id.get(request.transactional_id)
    if transaction is None:
        if request.new_producer_id is None:
            return Effects().answer(ticket, NEEDS_PRODUCER_ID)
        transaction = Transaction(
            transactional_id=request.transactional_id,
            producer_id=request.new_producer_id,
            timeout_ms=request.timeout_ms,
            updated_ms=now_ms,
        )
    if request.expected is not None and not _may_continue(transaction, request.expected):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if transaction.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if transaction.state is TransactionState.ONGOING:
        effects = machine.prepare(fence(transaction, machine.version, now_ms))
        return effects.answer(ticket, KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS))
    return _begin(transaction, request, machine, ticket, now_ms=now_ms)


def needs_producer_id(request: Initialization, machine: Transactions) -> bool:
    """Return whether `initialize` would answer with NEEDS_PRODUCER_ID now."""
    transaction = machine.by_id.get(request.transactional_id)
    if transaction is None:
        return True
    expected = request.expected
    return transaction.is_used_up and (
        expected is None or expected.epoch == transaction.producer_epoch
    )


def _may_continue(transaction: Transaction, expected: ProducerIdentity) -> bool:
    """Return whether a producer is the newest one of its transactional id, by its producer id. Its
    epoch is looked at later.
    """
    return (
        transaction.producer_epoch == NO_EPOCH
        or expected.producer_id == transaction.producer_id
        or (
            # The answer that rotated the producer id was lost.
            expected.producer_id == transaction.previous_producer_id
            and is_last_epoch(expected.epoch)
        )
    )


def _begin(
    transaction: Transaction,
    request: Initialization,
    machine: Transactions,
    ticket: Ticket,
    *,
    now_ms: int,
) -> Effects:
    expected, epoch = request.expected, transaction.producer_epoch
    continues = expected is not None and epoch != NO_EPOCH
    if expected is not None and continues and expected.epoch != epoch:
        if expected.epoch != transaction.last_producer_epoch:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
        # A repeated request: no producer came in between, or the last epoch would be forgotten.
        identity, last_epoch = transaction.identity, transaction.last_producer_epoch
    elif transaction.is_used_up:
        if request.new_producer_id is None:
            return Effects().answer(ticket, NEEDS_PRODUCER_ID)
        identity = ProducerIdentity(request.new_producer_id, 0)
        last_epoch = epoch if continues else NO_EPOCH
    else:
        identity = ProducerIdentity(transaction.producer_id, epoch + 1)
        last_epoch = epoch if continues else NO_EPOCH
    after = begun(
        transaction,
        identity,
        last_epoch=last_epoch,
        timeout_ms=request.timeout_ms,
        now_ms=now_ms,
    )
    return machine.store(after).answer(ticket, identity)
