"""Transactional ids of a broker under test: state, producer, partitions and age."""

from typing import Final

from trio_kafka.controls.ask import ask, ask_when_loaded, check
from trio_kafka.controls.running import HasParts
from trio_kafka.controls.values import Transaction
from trio_kafka.errors import ErrorCode
from trio_kafka.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    TransactionState,
)
from trio_kafka.protocol.messages.k66_list_transactions import ListTransactionsRequest

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

DEAD: Final = "Dead"
_OPEN: Final = frozenset({"Ongoing", "PrepareCommit", "PrepareAbort"})


async def list_transactions(broker: HasParts, now_s: float) -> list[Transaction]:
    """Return all transactional ids with their states, sorted by id. Raises KafkaError.

    now_s: the broker's wall time, in seconds since 1970.
    """
    answer = await ask_when_loaded(broker, ListTransactionsRequest())
    check(answer.error_code, "ListTransactions")
    names = sorted(row.transactional_id for row in answer.transaction_states)
    return await _described(broker, names, now_s)


async def describe_transaction(
    broker: HasParts, transactional_id: str, now_s: float
) -> Transaction:
    """Return the state of a transactional id; one that does not exist is Dead.

    Raises KafkaError.
    """
    for transaction in await list_transactions(broker, now_s):
        if transaction.transactional_id == transactional_id:
            return transaction
    return Transaction(transactional_id=transactional_id, state=DEAD)


async def _described(broker: HasParts, names: list[str], now_s: float) -> list[Transaction]:
    if not names:
        return []
    answer = await ask(broker, DescribeTransactionsRequest(names))
    transactions = []
    for row in answer.transaction_states:
        if row.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:  # it has just expired
            continue
        check(row.error_code, row.transactional_id)
        transactions.append(_transaction(row, now_s))
    return transactions


def _transaction(row: TransactionState, now_s: float) -> Transaction:
    is_open = row.transaction_state in _OPEN and row.transaction_start_time_ms >= 0
    return Transaction(
        transactional_id=row.transactional_id,
        state=row.transaction_state,
        producer_id=row.producer_id,
        producer_epoch=row.producer_epoch,
        partitions=tuple(
            sorted((topic.topic, n) for topic in row.topics for n in topic.partitions)
        ),
        age_s=max(0.0, now_s - row.transaction_start_time_ms / 1000) if is_open else None,
        timeout_s=row.transaction_timeout_ms / 1000,
    )
