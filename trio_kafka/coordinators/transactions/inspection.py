"""Reading events: describe a transactional id, list those of a shard (KIP-664, KIP-994)."""

from collections.abc import Callable
from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import Effects, Ticket
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import NO_TIME, Transaction
from trio_kafka.coordinators.transactions.transactions import Transactions
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps

_A_STEP: Final = 64  # ids in one step: 0.1 ms with a pattern


@frozen(kw_only=True)
class TransactionFilter:
    """Filter of listed ids. An empty set matches everything. longer_than_ms: age of the open
    transaction, at least; negative: any. matches: whether a name matches the pattern.
    """

    states: frozenset[TransactionState] = frozenset()
    producer_ids: frozenset[int] = frozenset()
    longer_than_ms: int = -1
    matches: Callable[[str], object] | None = None

    def chooses(self, transaction: Transaction, now_ms: int) -> bool:
        """Return whether an id is listed."""
        return (
            (not self.states or transaction.state in self.states)
            and (not self.producer_ids or transaction.producer_id in self.producer_ids)
            and (self.longer_than_ms < 0 or self._is_old(transaction, now_ms))
            and (self.matches is None or bool(self.matches(transaction.transactional_id)))
        )

    def _is_old(self, transaction: Transaction, now_ms: int) -> bool:
        started_ms = transaction.started_ms
        return started_ms != NO_TIME and now_ms - started_ms > self.longer_than_ms


def describe_transaction(
    transactional_id: str, machine: Transactions, ticket: Ticket, now_ms: int
) -> Effects:
    """Answer with the Transaction. Raises KafkaError: INVALID_REQUEST for an empty id,
    TRANSACTIONAL_ID_NOT_FOUND.
    """
    del now_ms
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an empty transactional id: expected a name")
    transaction = machine.by_id.get(transactional_id)
    if transaction is None:
        raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
    return Effects().answer(ticket, transaction)


def list_transactions(
    chosen: TransactionFilter, machine: Transactions, ticket: Ticket, now_ms: int
) -> Steps[Effects]:
    """Answer with the Transactions that the filter chooses, in a list."""
    listed: list[Transaction] = []
    for number, transaction in enumerate(tuple(machine.by_id.values()), 1):
        if chosen.chooses(transaction, now_ms):
            listed.append(transaction)
        if not number % _A_STEP:
            yield
    return Effects().answer(ticket, listed)
