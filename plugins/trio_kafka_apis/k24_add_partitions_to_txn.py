"""AddPartitionsToTxn (key 24): add partitions to transactions, or verify that they have them.

Waits, parked, until the change is committed, and for the markers of the transaction before, at most
`add.partitions.to.txn.retry.backoff.max.ms`. Clients use the versions up to 3, which name one
transaction; brokers use those from 4 on. A partition that cannot be added prevents the others of
its transaction: they get OPERATION_NOT_ATTEMPTED. Source: KIP-98, KIP-890.

Up to version 3: needs WRITE on the transactional id and on each topic. From version 4 on: needs
CLUSTER_ACTION on the cluster.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.coordinators.transactions.adding import TransactionPartitions
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.transaction import RENEWING_VERSION, ProducerIdentity
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.names import is_internal
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, Pending, then
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from trio_kafka.requests.api import api
from trio_kafka.requests.context import Context
from trio_kafka.requests.lazy_arrays import rows_of
from trio_kafka.requests.rows import Pairs, for_each
from trio_kafka.security.operations import Operation

FENCED_SINCE: Final = 2  # clients know PRODUCER_FENCED
BROKERS_SINCE: Final = 4
MOST_TRANSACTIONS: Final = 1000  # of one request of a broker: 10 ms
Errors = Mapping[TopicPartition, ErrorCode]


def say_error(
    request: AddPartitionsToTxnRequest, code: ErrorCode, message: str | None
) -> AddPartitionsToTxnResponse:
    """Return the error for each partition, and for the whole request where that is possible."""
    del message
    return AddPartitionsToTxnResponse(
        error_code=code,
        results_by_topic_v3_and_below=rows_of(
            request.v3_and_below_topics, lambda topic: _topic_result(topic, lambda _: code)
        ),
    )


@api(AddPartitionsToTxnRequest, error=say_error)
def add_partitions_to_txn(
    request: AddPartitionsToTxnRequest, context: Context
) -> Eventual[AddPartitionsToTxnResponse]:
    if context.version >= BROKERS_SINCE:
        return _answer_broker(request, context)
    context.authorize(Operation.WRITE, transactional_id=request.v3_and_below_transactional_id)
    transaction = AddPartitionsToTxnTransaction(
        request.v3_and_below_transactional_id,
        request.v3_and_below_producer_id,
        request.v3_and_below_producer_epoch,
        verify_only=False,
        topics=request.v3_and_below_topics,
    )

    def respond(errors: Errors) -> AddPartitionsToTxnResponse:
        return AddPartitionsToTxnResponse(
            results_by_topic_v3_and_below=_topic_results(transaction.topics, errors)
        )

    return then(_add(transaction, context), respond)


def _add(transaction: AddPartitionsToTxnTransaction, context: Context) -> Eventual[Errors]:
    """Add the partitions of one transaction. Return an error for each partition that has one."""
    partitions: dict[TopicPartition, None] = {}
    errors: dict[TopicPartition, ErrorCode] = {}

    def check(pair: tuple[AddPartitionsToTxnTopic, int]) -> None:
        partition = TopicPartition(pair[0].name, pair[1])
        partitions[partition] = None
        error = _error(partition, context)
        if error is not None:
            errors[partition] = error

    def add() -> Eventual[Errors]:
        if not transaction.transactional_id:
            return dict.fromkeys(partitions, ErrorCode.INVALID_REQUEST)
        if errors:
            not_attempted = dict.fromkeys(partitions, ErrorCode.OPERATION_NOT_ATTEMPTED)
            return {**not_attempted, **errors}
        request = TransactionPartitions(
            transactional_id=transaction.transactional_id,
            identity=ProducerIdentity(transaction.producer_id, transaction.producer_epoch),
            partitions=tuple(partitions),
            version=RENEWING_VERSION if context.version >= BROKERS_SINCE else 0,
        )
        coordinator = context[TransactionCoordinator]
        if transaction.verify_only:
            return then(
                coordinator.verify(request), partial(_of_each, partitions, version=context.version)
            )
        return then(
            coordinator.add(request), partial(_of_each, partitions, version=context.version)
        )

    return for_each(Pairs(transaction.topics, lambda topic: topic.partitions), check, add)


def _error(partition: TopicPartition, context: Context) -> ErrorCode | None:
    topic = partition.topic
    if context.version < BROKERS_SINCE and (
        is_internal(topic) or not context.is_authorized(Operation.WRITE, topic=topic)
    ):
        return ErrorCode.TOPIC_AUTHORIZATION_FAILED
    if context.image.partition(partition) is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return None


def _of_each(
    partitions: Iterable[TopicPartition], answer: Errors | KafkaError | None, *, version: int
) -> Errors:
    """Return the errors as a client or broker of this version knows them."""
    if answer is None:
        return {}
    if isinstance(answer, KafkaError):
        return dict.fromkeys(partitions, _in_version(answer.code, version))
    return {partition: _in_version(error, version) for partition, error in answer.items()}


def _in_version(code: ErrorCode, version: int) -> ErrorCode:
    if code is ErrorCode.PRODUCER_FENCED and version < FENCED_SINCE:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


# The form of brokers


def _answer_broker(
    request: AddPartitionsToTxnRequest, context: Context
) -> Eventual[AddPartitionsToTxnResponse]:
    """Answer transaction after transaction; each waits for the one before."""
    context.authorize(Operation.CLUSTER_ACTION, cluster=True)
    if len(request.transactions) > MOST_TRANSACTIONS:
        message = f"{len(request.transactions)} transactions, expected at most {MOST_TRANSACTIONS}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, message)
    return _Transactions(context, iter(request.transactions)).go_on()


@define(eq=False)
class _Transactions:
    """Transactions of a broker's request that are still to be answered, and the results so far."""

    context: Context
    remaining: Iterator[AddPartitionsToTxnTransaction]
    results: list[AddPartitionsToTxnResult] = field(factory=list, init=False)

    def go_on(self) -> Eventual[AddPartitionsToTxnResponse]:
        for transaction in self.remaining:
            errors = _add(transaction, self.context)
            if isinstance(errors, Pending):
                return errors.then(partial(self._resume, transaction))
            self._take(transaction, errors)
        return AddPartitionsToTxnResponse(results_by_transaction=self.results)

    def _resume(
        self, transaction: AddPartitionsToTxnTransaction, errors: Errors
    ) -> Eventual[AddPartitionsToTxnResponse]:
        self._take(transaction, errors)
        return self.go_on()

    def _take(self, transaction: AddPartitionsToTxnTransaction, errors: Errors) -> None:
        topics = _topic_results(transaction.topics, errors)
        self.results.append(AddPartitionsToTxnResult(transaction.transactional_id, topics))


def _topic_results(
    topics: list[AddPartitionsToTxnTopic], errors: Errors
) -> list[AddPartitionsToTxnTopicResult]:
    return rows_of(
        topics,
        lambda topic: _topic_result(
            topic,
            lambda number: errors.get(TopicPartition(topic.name, number), ErrorCode.NONE),
        ),
    )


def _topic_result(
    topic: AddPartitionsToTxnTopic, error: Callable[[int], ErrorCode]
) -> AddPartitionsToTxnTopicResult:
    return AddPartitionsToTxnTopicResult(
        topic.name,
        rows_of(
            topic.partitions,
            lambda number: AddPartitionsToTxnPartitionResult(number, error(number)),
        ),
    )
