"""Records of `__transaction_state`: a transactional id and its state, in Kafka's two versions."""

from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.shards.record_codec import RecordCodec
from trio_kafka.coordinators.transactions.states import (
    STORED_NUMBERS,
    STORED_STATES,
    TransactionState,
)
from trio_kafka.coordinators.transactions.transaction import NO_PARTITIONS, Transaction
from trio_kafka.errors import InvariantError
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.stored import transactions as stored
from trio_kafka.protocol.stored.transactions import (
    PartitionsSchema,
    TransactionLogKey,
    TransactionLogValue,
)

TRANSACTION_RECORDS: Final = RecordCodec(stored)
_FLEXIBLE_SINCE: Final = 1  # transaction.version that writes version 1 of the value


@define
class TransactionRecord(CoordinatorRecord):
    """Record with the state that it holds. The state also has what is not stored, so a record that
    is replayed where it was written keeps it.
    """

    transaction: Transaction | None = None


def transaction_record(transaction: Transaction, transaction_version: int) -> TransactionRecord:
    """Return the record of a state. transaction_version: level of the cluster's feature.

    Under version 0 an older broker must be able to read the record.
    """
    version = int(transaction_version >= _FLEXIBLE_SINCE)
    is_empty = transaction.state is TransactionState.EMPTY
    if is_empty and transaction.partitions:
        raise InvariantError(
            f"transaction {transaction.transactional_id!r}: Empty, with partitions"
        )
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=STORED_NUMBERS[transaction.state],
        transaction_partitions=None if is_empty else _schemas(transaction.partitions),
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.started_ms,
    )
    if version:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return TransactionRecord(
        TransactionLogKey(transaction.transactional_id), value, version, transaction
    )


def tombstone(transactional_id: str) -> CoordinatorRecord:
    """Return the record that removes a transactional id."""
    return CoordinatorRecord(TransactionLogKey(transactional_id))


def stored_transaction(record: CoordinatorRecord) -> Transaction | None:
    """Return the state in a record; None for a tombstone.

    Raises ValueError for a state that is never written.
    """
    if isinstance(record, TransactionRecord):
        return record.transaction
    value: TransactionLogValue | None = record.value
    if value is None:
        return None
    state = STORED_STATES.get(value.transaction_status)
    if state is None:
        raise ValueError(
            f"state {value.transaction_status}: expected 0 to {len(STORED_STATES) - 1}"
        )
    partitions = value.transaction_partitions
    return Transaction(
        transactional_id=record.key.transactional_id,
        producer_id=value.producer_id,
        producer_epoch=value.producer_epoch,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        timeout_ms=value.transaction_timeout_ms,
        state=state,
        partitions=_partitions(partitions) if partitions else NO_PARTITIONS,
        started_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        client_version=value.client_transaction_version,
    )


def _schemas(partitions: Iterable[TopicPartition]) -> list[PartitionsSchema]:
    """Return the partitions by topic, both ascending. Each change of a transaction writes all of
    its partitions again: 10,000 take 3 ms, and took 40 ms sorted as they are.
    """
    by_topic: dict[str, list[int]] = {}
    for at in partitions:
        by_topic.setdefault(at.topic, []).append(at.partition)
    return [PartitionsSchema(topic, sorted(by_topic[topic])) for topic in sorted(by_topic)]


# Bounded: transactions of many ids have the same partitions, which a load then makes once.
_topic_partition: Final = lru_cache(maxsize=10_000)(TopicPartition)


def _partitions(schemas: Iterable[PartitionsSchema]) -> frozenset[TopicPartition]:
    return frozenset(
        [
            _topic_partition(schema.topic, number)
            for schema in schemas
            for number in schema.partition_ids
        ]
    )
