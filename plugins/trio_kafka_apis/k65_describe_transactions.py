"""DescribeTransactions (key 65): describe transactions by transactional id.

Waits, parked, while a change of the transaction is not committed yet. An id that is named twice is
described once. Source: KIP-664.

Needs DESCRIBE on the transactional id. Partitions of topics without DESCRIBE are left out.
"""

from itertools import groupby

from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.pending import Eventual, then
from trio_kafka.protocol.messages.k65_describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.security.operations import Operation


def say_error(
    request: DescribeTransactionsRequest, code: ErrorCode, message: str | None
) -> DescribeTransactionsResponse:
    """Return the error for each transactional id."""
    del message
    return DescribeTransactionsResponse(
        transaction_states=rows_of(
            dict.fromkeys(request.transactional_ids), lambda name: TransactionState(code, name)
        )
    )


@api(DescribeTransactionsRequest, error=say_error)
def describe_transactions(
    request: DescribeTransactionsRequest, context: Context
) -> Eventual[DescribeTransactionsResponse]:
    names = list(dict.fromkeys(request.transactional_ids))
    denied = KafkaError(ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
    allowed = dict.fromkeys(context.authorized(Operation.DESCRIBE, transactional_ids=names))

    def answer(described: list[Transaction | KafkaError]) -> DescribeTransactionsResponse:
        by_name = dict(zip(allowed, described, strict=True))
        return DescribeTransactionsResponse(
            transaction_states=rows_of(
                names, lambda name: _row(name, by_name.get(name, denied), context)
            )
        )

    if not allowed:
        return answer([])
    return then(context[TransactionCoordinator].describe(list(allowed)), answer)


def _row(name: str, transaction: Transaction | KafkaError, context: Context) -> TransactionState:
    if isinstance(transaction, KafkaError):
        return TransactionState(transaction.code, name)
    partitions = sorted(transaction.partitions, key=lambda each: (each.topic, each.partition))
    topics = groupby(partitions, key=lambda each: each.topic)
    return TransactionState(
        transactional_id=name,
        transaction_state=transaction.state.value,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            TopicData(topic, [each.partition for each in group])
            for topic, group in topics
            if context.is_authorized(Operation.DESCRIBE, topic=topic)
        ],
    )
