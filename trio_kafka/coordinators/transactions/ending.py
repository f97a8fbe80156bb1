"""EndTxn: the decision on a transaction is stored, the client is answered, and markers are written.

Under transaction version 2 the end also gives the next epoch, so a repeated request has the epoch
before. Under older versions nothing tells a repeated request from one for the next transaction;
a delayed EndTxn may end the wrong one, and no broker can mend that.
Source: TransactionCoordinator.endTransaction and endTransactionWithTV1 of Apache Kafka 4.4.0.
"""

from typing import Final, Self

from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.transactions.states import TransactionEvent, TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    HIGHEST_EPOCH,
    LAST_EPOCH,
    NO_PRODUCER_ID,
    RENEWING_VERSION,
    ProducerIdentity,
    Transaction,
    completed,
    fenced,
    prepared,
)
from trio_kafka.coordinators.transactions.transactions import Transactions
from trio_kafka.errors import ErrorCode, KafkaError

_COMMITTED: Final = (TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT)
_ABORTED: Final = (TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT)
_COMPLETE: Final = (TransactionState.COMPLETE_COMMIT, TransactionState.COMPLETE_ABORT)


@frozen(kw_only=True)
class End:
    """Request to end a transaction. version: transaction.version that the client speaks: 2, or less
    for the older protocol. new_producer_id: an id in case that the epochs are used up, or None.
    """

    transactional_id: str
    identity: ProducerIdentity
    commits: bool
    version: int
    new_producer_id: int | None = None

    def with_id(self, producer_id: int | None) -> Self:
        """Return the request with an id in case that one is needed."""
        return evolve(self, new_producer_id=producer_id)


def end(request: End, machine: Transactions, ticket: Ticket, now_ms: int) -> Effects:
    """Answer with the ProducerIdentity for the next transaction, once the decision is committed.

    Raises KafkaError: INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, INVALID_TXN_STATE;
    CONCURRENT_TRANSACTIONS while markers are being written; COORDINATOR_LOAD_IN_PROGRESS if a new
    producer id is needed; UNKNOWN_SERVER_ERROR for a commit that has no new epoch.
    """
    transaction = machine.transaction(request.transactional_id)
    if request.version >= RENEWING_VERSION:
        event = _event_of_renewing(request, transaction)
    else:
        event = _event_of_plain(request, transaction)
    if event is None:
        return Effects().answer(ticket, transaction.identity)
    next_id = NO_PRODUCER_ID
    if request.version >= RENEWING_VERSION and transaction.is_used_up:
        if request.new_producer_id is None:
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)
        next_id = request.new_producer_id
    after = prepared(
        transaction, event, version=request.version, next_producer_id=next_id, now_ms=now_ms
    )
    return machine.prepare(after).answer(ticket, completed(after, now_ms).identity)


def fence(transaction: Transaction, version: int, now_ms: int) -> Transaction:
    """Return an ongoing transaction as aborted, with an epoch that fences its producer.

    version: transaction.version of the cluster. Under version 2 the abort itself gives a new epoch;
    a second one would use up the last (KAFKA-19367).
    """
    if version < RENEWING_VERSION:
        transaction = fenced(transaction)
    return prepared(transaction, TransactionEvent.ABORT, version=version, now_ms=now_ms)


def _event_of_plain(request: End, transaction: Transaction) -> TransactionEvent | None:
    """Return the event of a request in the older protocol; None: repeated, all is done."""
    if transaction.producer_id != request.identity.producer_id:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    if transaction.producer_epoch != request.identity.epoch:
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    state = transaction.state
    if state is TransactionState.ONGOING:
        return _decision(request)
    if state not in (_COMMITTED if request.commits else _ABORTED):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if transaction.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return None


def _event_of_renewing(request: End, transaction: Transaction) -> TransactionEvent | None:
    """Return the event of a request under version 2; None: repeated, all is done.

    The state alone does not tell a repeated request from a new one; its epoch does.
    """
    epoch, state = request.identity.epoch, transaction.state
    repeats_rotation = (
        transaction.previous_producer_id == request.identity.producer_id
        and transaction.producer_id != request.identity.producer_id
        and epoch == LAST_EPOCH
        and transaction.producer_epoch == 0
    )
    if transaction.producer_id != request.identity.producer_id and not repeats_rotation:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
    repeats = repeats_rotation or transaction.producer_epoch == epoch + 1
    if transaction.is_prepared:
        if not repeats:
            raise KafkaError(ErrorCode.PRODUCER_FENCED)
    elif transaction.producer_epoch != epoch and not (repeats and state in _COMPLETE):
        raise KafkaError(ErrorCode.PRODUCER_FENCED)
    if state is TransactionState.ONGOING:
        if request.commits and epoch == HIGHEST_EPOCH:
            # No client got this epoch. Kafka's overflows, and a commit is refused; an abort is not.
            text = f"epoch {epoch} is the highest: the transaction can only be aborted"
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, text)
        return _decision(request)
    if not repeats and not request.commits:
        return TransactionEvent.ABORT_OF_NOTHING
    if not repeats or state not in (_COMMITTED if request.commits else _ABORTED):
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)
    if transaction.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return None


def _decision(request: End) -> TransactionEvent:
    return TransactionEvent.COMMIT if request.commits else TransactionEvent.ABORT
