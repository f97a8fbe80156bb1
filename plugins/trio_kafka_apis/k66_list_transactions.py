"""ListTransactions (key 66): list the transactional ids that this broker coordinates.

Waits while shards with many ids are searched. If a shard is being loaded, the whole response is
COORDINATOR_LOAD_IN_PROGRESS, so that a client never takes a part for the whole. Version 1 has a
filter by duration, version 2 one by a regular expression in RE2's syntax. Source: KIP-664, KIP-994,
KIP-1152.

Ids without DESCRIBE are left out.
"""

from functools import partial

from trio_kafka.coordinators.groups.consumer.regex_pattern import compiled
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.inspection import TransactionFilter
from trio_kafka.coordinators.transactions.states import TransactionState as State
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k66_list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
    TransactionState,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import lazily
from trio_kafka.requests.rows import for_each
from trio_kafka.security.operations import Operation

_STATES = {state.value: state for state in State}


@api(ListTransactionsRequest)
def list_transactions(
    request: ListTransactionsRequest, context: Context
) -> Eventual[ListTransactionsResponse]:
    names = dict.fromkeys(request.state_filters)
    unknown = [name for name in names if name not in _STATES]
    if unknown and len(unknown) == len(names):
        return ListTransactionsResponse(unknown_state_filters=unknown)
    pattern = request.transactional_id_pattern
    chosen = TransactionFilter(
        states=frozenset(_STATES[name] for name in names if name in _STATES),
        producer_ids=frozenset(request.producer_id_filters),
        longer_than_ms=request.duration_filter,
        matches=compiled(pattern).fullmatch if pattern else None,
    )
    listed = context[TransactionCoordinator].list(chosen)
    return then(listed, partial(_respond, context, unknown))


def _respond(
    context: Context, unknown: list[str], shards: list[list[Transaction] | KafkaError]
) -> Eventual[ListTransactionsResponse]:
    listed: list[Transaction] = []
    for transactions in shards:
        if not isinstance(transactions, KafkaError):
            listed += transactions
        elif transactions.code is not ErrorCode.NOT_COORDINATOR:  # else it has just moved elsewhere
            return ListTransactionsResponse(
                error_code=transactions.code, unknown_state_filters=unknown
            )
    visible: list[Transaction] = []

    def add_if_visible(transaction: Transaction) -> None:
        name = transaction.transactional_id
        if context.is_authorized(Operation.DESCRIBE, transactional_id=name):
            visible.append(transaction)

    return for_each(
        listed,
        add_if_visible,
        lambda: ListTransactionsResponse(
            unknown_state_filters=unknown, transaction_states=lazily(visible, _row)
        ),
    )


def _row(transaction: Transaction) -> TransactionState:
    return TransactionState(
        transaction.transactional_id, transaction.producer_id, transaction.state.value
    )
