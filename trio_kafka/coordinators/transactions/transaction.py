"""State of one transactional id: a value, and the changes of it that the table of states allows.

A change returns a new value. Nothing here knows clients, records or time-outs.
Source: TransactionMetadata of Apache Kafka 4.4.0; KIP-98, KIP-360, KIP-890.
"""

from collections.abc import Iterable
from typing import Final

from attrs import evolve

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.transactions.states import (
    PREPARED,
    TRANSITIONS,
    TransactionEvent,
    TransactionState,
)
from trio_kafka.errors import InvariantError
from trio_kafka.model import TopicPartition

NO_PRODUCER_ID: Final = -1
NO_EPOCH: Final = -1
NO_TIME: Final = -1
NO_PARTITIONS: Final[frozenset[TopicPartition]] = frozenset()  # shared: Python makes a new one each
HIGHEST_EPOCH: Final = (1 << 15) - 1  # that can be stored; a fence may give it
LAST_EPOCH: Final = HIGHEST_EPOCH - 1  # highest epoch that a client gets
RENEWING_VERSION: Final = 2  # transaction.version in which each end gives a new epoch (KIP-890)


@frozen
class ProducerIdentity:
    """Producer id and epoch."""

    producer_id: int
    epoch: int


@define(kw_only=True)
class Transaction:
    """State of a transactional id, and of its transaction if there is one. Never changed, but not
    frozen: a load makes one for each record, and a frozen one costs twice as much.

    last_producer_epoch: epoch before the newest one, which a producer may still name when it
        repeats a request; NO_EPOCH if it must not. It is never stored.
    previous_producer_id: id before a rotation. next_producer_id: id after a prepared end.
    partitions: those that get a marker.
    started_ms: time of the first partition; NO_TIME if there is none.
    client_version: transaction.version that the producer speaks.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int = NO_EPOCH
    last_producer_epoch: int = NO_EPOCH
    previous_producer_id: int = NO_PRODUCER_ID
    next_producer_id: int = NO_PRODUCER_ID
    timeout_ms: int
    state: TransactionState = TransactionState.EMPTY
    partitions: frozenset[TopicPartition] = NO_PARTITIONS
    started_ms: int = NO_TIME
    updated_ms: int = NO_TIME
    client_version: int = 0

    @property
    def identity(self) -> ProducerIdentity:
        """Id and epoch that the producer must name."""
        return ProducerIdentity(self.producer_id, self.producer_epoch)

    @property
    def is_prepared(self) -> bool:
        """True if markers are being written."""
        return self.state in PREPARED

    @property
    def is_used_up(self) -> bool:
        """True if the producer id has no further epoch for a client."""
        return is_last_epoch(self.producer_epoch)


def is_last_epoch(epoch: int) -> bool:
    """Return whether a producer id has no further epoch after this one."""
    return epoch >= LAST_EPOCH


def begun(
    transaction: Transaction,
    identity: ProducerIdentity,
    *,
    last_epoch: int,
    timeout_ms: int,
    now_ms: int,
) -> Transaction:
    """Return the state after InitProducerId: the producer has this id and epoch."""
    return evolve(
        transaction,
        updated_ms=now_ms,
        state=_after(transaction, TransactionEvent.PRODUCER_BEGINS),
        producer_id=identity.producer_id,
        producer_epoch=identity.epoch,
        last_producer_epoch=last_epoch,
        previous_producer_id=transaction.producer_id,
        timeout_ms=timeout_ms,
        partitions=NO_PARTITIONS,
        started_ms=NO_TIME,
    )


def added(
    transaction: Transaction,
    partitions: Iterable[TopicPartition],
    *,
    version: int,
    now_ms: int,
) -> Transaction:
    """Return the state with more partitions. The first ones begin the transaction.

    version: transaction.version that the producer speaks.
    """
    is_ongoing = transaction.state is TransactionState.ONGOING
    return evolve(
        transaction,
        updated_ms=now_ms,
        state=_after(transaction, TransactionEvent.PARTITIONS_ADDED),
        partitions=transaction.partitions.union(partitions),
        started_ms=transaction.started_ms if is_ongoing else now_ms,
        client_version=version,
    )


def prepared(
    transaction: Transaction,
    event: TransactionEvent,
    *,
    version: int,
    next_producer_id: int = NO_PRODUCER_ID,
    now_ms: int,
) -> Transaction:
    """Return the state in which markers are written.

    Under version 2 the markers have a new epoch, and no batch of the transaction can follow them.
    At the highest epoch there is none: the markers are then those of version 1, as leaders would
    refuse an epoch that is not new.
    next_producer_id: for the next transaction, if the epochs are used up.
    """
    epoch = transaction.producer_epoch
    is_renewing = version >= RENEWING_VERSION
    if is_renewing and epoch == HIGHEST_EPOCH:
        version = RENEWING_VERSION - 1
    nothing = event is TransactionEvent.ABORT_OF_NOTHING
    return evolve(
        transaction,
        updated_ms=now_ms,
        state=_after(transaction, event),
        producer_epoch=_next_epoch(epoch) if is_renewing else epoch,
        last_producer_epoch=epoch if is_renewing else transaction.last_producer_epoch,
        next_producer_id=next_producer_id,
        started_ms=now_ms if nothing else transaction.started_ms,
        client_version=version,
    )


def fenced(transaction: Transaction) -> Transaction:
    """Return the state with an epoch that no client gets, so that the producer is fenced. The
    highest epoch stays: no client got it.
    """
    epoch = _next_epoch(transaction.producer_epoch)
    return evolve(transaction, producer_epoch=epoch, last_producer_epoch=NO_EPOCH)


def _next_epoch(epoch: int) -> int:
    """Return the epoch after this one. Source: TransactionMetadata.prepareFenceProducerEpoch and
    prepareAbortOrCommit, which leave the highest epoch as it is.
    """
    return min(epoch + 1, HIGHEST_EPOCH)


def completed(transaction: Transaction, now_ms: int) -> Transaction:
    """Return the state after all markers. The producer id rotates if that was prepared."""
    rotates = transaction.next_producer_id != NO_PRODUCER_ID
    return evolve(
        transaction,
        updated_ms=now_ms,
        state=_after(transaction, TransactionEvent.MARKERS_WRITTEN),
        producer_id=transaction.next_producer_id if rotates else transaction.producer_id,
        producer_epoch=0 if rotates else transaction.producer_epoch,
        previous_producer_id=transaction.producer_id,
        next_producer_id=NO_PRODUCER_ID,
        partitions=NO_PARTITIONS,
    )


def _after(transaction: Transaction, event: TransactionEvent) -> TransactionState:
    state = TRANSITIONS.get((transaction.state, event))
    if state is None:
        raise InvariantError(
            f"transaction {transaction.transactional_id!r}: {event.name} in {transaction.state}"
        )
    return state
