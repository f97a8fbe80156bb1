"""ListTransactions (key 66): list the transactional ids that this broker coordinates.

Waits while shards with many ids are searched. If a shard is being loaded, the whole response is
COORDINATOR_LOAD_IN_PROGRESS, so that a client never takes a part for the whole; it names no unknown
state then. After the stop it is COORDINATOR_NOT_AVAILABLE. Version 1 has a
filter by duration, version 2 one by a regular expression in RE2's syntax. Source: KIP-664, KIP-994,
KIP-1152.

Ids without DESCRIBE are left out.
"""

from functools import partial
from itertools import chain

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

Shards = list[list[Transaction] | KafkaError]
_STATES = {state.value: state for state in State}


@api(ListTransactionsRequest)
def list_transactions(
    request: ListTransactionsRequest, context: Context
) -> Eventual[ListTransactionsResponse]:
    names = dict.fromkeys(request.state_filters)
    unknown = [name for name in names if name not in _STATES]
    pattern = request.transactional_id_pattern
    chosen = TransactionFilter(
        states=frozenset(_STATES[name] for name in names if name in _STATES),
        producer_ids=frozenset(request.producer_id_filters),
        longer_than_ms=request.duration_filter,
        matches=compiled(pattern).fullmatch if pattern else None,
    )
    listed = context[TransactionCoordinator].list(chosen)
    if unknown and len(unknown) == len(names):  # no state is left, which would choose all
        return then(listed, partial(_respond_without_ids, unknown))
    return then(listed, partial(_respond, context, unknown))


def _error_of(shards: Shards) -> ErrorCode:
    """Return the error of the whole response; NONE: every shard is there."""
    for shard in shards:
        # NOT_COORDINATOR: the shard has just moved elsewhere.
        if isinstance(shard, KafkaError) and shard.code is not ErrorCode.NOT_COORDINATOR:
            return shard.code
    return ErrorCode.NONE


def _respond_without_ids(unknown: list[str], shards: Shards) -> ListTransactionsResponse:
    code = _error_of(shards)
    return ListTransactionsResponse(error_code=code, unknown_state_filters=[] if code else unknown)


def _respond(
    context: Context, unknown: list[str], shards: Shards
) -> Eventual[ListTransactionsResponse]:
    code = _error_of(shards)
    if code:
        return ListTransactionsResponse(error_code=code)
    listed = list(
        chain.from_iterable(shard for shard in shards if not isinstance(shard, KafkaError))
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
