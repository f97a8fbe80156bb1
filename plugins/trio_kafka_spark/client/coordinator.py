"""Requests of transactional producers to their coordinators, in the protocol that all brokers know.

Versions are those before KIP-890 (`transaction.version` 0 and 1): partitions are added before the
first Produce, and an end does not change the epoch. So an end can be repeated by any process that
knows producer id and epoch, and has the same answer. The weakness of that protocol, an end that
arrives late and ends the next transaction, does not apply: each transaction here begins with
InitProducerId, and has an epoch of its own.
Source: KIP-98, KIP-360, KIP-664; TransactionCoordinator of Apache Kafka 4.4.0.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Final, TypeVar

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.peers.session import Request
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.protocol.messages.k65_describe_transactions import DescribeTransactionsRequest
from trio_kafka.protocol.messages.k66_list_transactions import ListTransactionsRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka_spark.client.cluster import Cluster
from trio_kafka_spark.client.connection import BrokerConnectionError
from trio_kafka_spark.client.retry import Attempts, is_retriable, named, rejected

A = TypeVar("A")  # class of an answer

_TRANSACTION: Final = 1  # key type of FindCoordinator
_ONE_KEY: Final = 3  # last version of FindCoordinator with one key
_INIT: Final = 4  # last version of InitProducerId of the older protocol
_ADD: Final = 3  # last version of AddPartitionsToTxn for clients
_END: Final = 4  # last version of EndTxn that keeps the epoch
_OPEN: Final = "Ongoing"
_BEGUN: Final = ("Empty", _OPEN)  # states of an id whose producer has begun, and may write
# Answers that say that a transaction is not open any more, and was not ended as asked.
_LOST: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
        ErrorCode.INVALID_TXN_STATE,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.TRANSACTIONAL_ID_NOT_FOUND,
    }
)


@frozen(kw_only=True)
class Transaction:
    """One transaction: its id is used again, its epoch is not."""

    transactional_id: str
    producer_id: int
    epoch: int


@define
class Coordinator:
    """Transaction coordinators of a cluster, each found on first use.

    All methods repeat what may succeed later, and raise SourceError in the end.
    """

    cluster: Cluster
    _endpoints: dict[str, Endpoint] = field(factory=dict, init=False)

    def init(self, transactional_id: str, timeout_ms: int) -> Transaction:
        """Begin a new epoch of an id: an open transaction of it is aborted, its producer fenced.

        Returns when nothing of the id is open. timeout_ms: the coordinator aborts a transaction
        that is open for longer.
        """
        answer = self._ask(
            transactional_id,
            InitProducerIdRequest(transactional_id, timeout_ms),
            lambda answer: answer.error_code,
            at_most=_INIT,
        )
        if answer.error_code:
            raise rejected(f"InitProducerId of {transactional_id}", answer.error_code)
        return Transaction(
            transactional_id=transactional_id,
            producer_id=answer.producer_id,
            epoch=answer.producer_epoch,
        )

    def add(self, transaction: Transaction, partitions: Iterable[TopicPartition]) -> None:
        """Add partitions to a transaction, before the first Produce to them."""
        topics: dict[str, list[int]] = {}
        for partition in partitions:
            topics.setdefault(partition.topic, []).append(partition.partition)
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=transaction.transactional_id,
            v3_and_below_producer_id=transaction.producer_id,
            v3_and_below_producer_epoch=transaction.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnTopic(name, numbers) for name, numbers in topics.items()
            ],
        )

        answer = self._ask(transaction.transactional_id, request, _code_of, at_most=_ADD)
        if code := _code_of(answer):
            raise rejected(f"AddPartitionsToTxn of {transaction.transactional_id}", code)

    def end(self, transaction: Transaction, *, commit: bool) -> bool:
        """Commit or abort; true also if it was ended in this way before.

        False: it is not open any more, and ended otherwise, or nothing is known of it.
        """
        answer = self._ask(
            transaction.transactional_id,
            EndTxnRequest(
                transaction.transactional_id, transaction.producer_id, transaction.epoch, commit
            ),
            lambda answer: answer.error_code,
            at_most=_END,
        )
        if answer.error_code and answer.error_code not in _LOST:
            raise rejected(f"EndTxn of {transaction.transactional_id}", answer.error_code)
        return not answer.error_code

    def is_open(self, transactional_id: str) -> bool:
        """True if a transaction of this id is open, whichever epoch it has."""
        return self._state_of(transactional_id) == _OPEN

    def is_known(self, transactional_id: str) -> bool:
        """True if the id was ever begun; coordinators forget it after days without use."""
        return self._state_of(transactional_id) is not None

    def _state_of(self, transactional_id: str) -> str | None:
        answer = self._ask(
            transactional_id,
            DescribeTransactionsRequest([transactional_id]),
            lambda answer: answer.transaction_states[0].error_code,
        )
        [state] = answer.transaction_states
        if state.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
            return None
        if state.error_code:
            raise rejected(f"DescribeTransactions of {transactional_id}", state.error_code)
        return state.transaction_state

    def open_transactions(self, prefix: str) -> dict[str, Transaction]:
        """Return the open transactions whose ids begin with `prefix`, by id.

        Each broker lists those that it coordinates, as far as this principal may describe them.
        """
        return self._transactions(prefix, (_OPEN,))

    def begun_transactions(self, prefix: str) -> dict[str, Transaction]:
        """Return also the ids whose producer has begun and has written nothing yet."""
        return self._transactions(prefix, _BEGUN)

    def _transactions(self, prefix: str, states: Sequence[str]) -> dict[str, Transaction]:
        transactions: dict[str, Transaction] = {}
        for endpoint in self.cluster.brokers():
            listed = self._ask_broker(
                endpoint,
                ListTransactionsRequest(list(states)),
                lambda answer: answer.error_code,
            )
            if listed.error_code:
                raise rejected(f"ListTransactions of broker {endpoint}", listed.error_code)
            ids = [state.transactional_id for state in listed.transaction_states]
            ids = [name for name in ids if name.startswith(prefix)]
            if not ids:
                continue
            described = self._ask_broker(endpoint, DescribeTransactionsRequest(ids), lambda _: 0)
            for state in described.transaction_states:
                if not state.error_code and state.transaction_state in states:
                    self._endpoints[state.transactional_id] = endpoint
                    transactions[state.transactional_id] = Transaction(
                        transactional_id=state.transactional_id,
                        producer_id=state.producer_id,
                        epoch=state.producer_epoch,
                    )
        return transactions

    def _ask(
        self,
        transactional_id: str,
        request: Request[A],
        code_of: Callable[[A], int],
        *,
        at_most: int | None = None,
    ) -> A:
        """Ask the coordinator of an id; the first answer without a code that may go away."""
        attempts = self._attempts(f"{_name_of(request)} of {transactional_id}")
        while True:
            try:
                endpoint = self._endpoints.get(transactional_id)
                if endpoint is None:
                    endpoint = self._find(transactional_id, attempts)
                answer = self._ask_once(endpoint, request, at_most=at_most)
            except BrokerConnectionError as error:
                self._endpoints.pop(transactional_id, None)
                attempts.failed(error)
                continue
            code = code_of(answer)
            if not is_retriable(code):
                return answer
            if code != ErrorCode.CONCURRENT_TRANSACTIONS:
                self._endpoints.pop(transactional_id, None)
            attempts.failed(f"{named(code)} from broker {endpoint}")

    def _find(self, transactional_id: str, attempts: Attempts) -> Endpoint:
        request = FindCoordinatorRequest(key=transactional_id, key_type=_TRANSACTION)
        while True:
            answer = self.cluster.ask_any(request, at_most=_ONE_KEY)
            if not answer.error_code:
                endpoint = Endpoint(answer.host, answer.port)
                self._endpoints[transactional_id] = endpoint
                return endpoint
            if not is_retriable(answer.error_code):
                raise rejected(f"FindCoordinator of {transactional_id}", answer.error_code)
            attempts.failed(named(answer.error_code))

    def _ask_broker(
        self, endpoint: Endpoint, request: Request[A], code_of: Callable[[A], int]
    ) -> A:
        attempts = self._attempts(f"{_name_of(request)} of broker {endpoint}")
        while True:
            try:
                answer = self._ask_once(endpoint, request)
            except BrokerConnectionError as error:
                attempts.failed(error)
                continue
            if not is_retriable(code_of(answer)):
                return answer
            attempts.failed(named(code_of(answer)))

    def _ask_once(
        self, endpoint: Endpoint, request: Request[A], *, at_most: int | None = None
    ) -> A:
        connection = self.cluster.connection(endpoint, idle=True)
        try:
            return connection.ask(request, at_most=at_most)
        except BrokerConnectionError:
            self.cluster.drop(connection)
            raise

    def _attempts(self, request: str) -> Attempts:
        settings = self.cluster.settings
        return Attempts(settings=settings, request=request, timeout_ms=settings.api_timeout_ms)


def _code_of(answer: AddPartitionsToTxnResponse) -> int:
    """Return the code of a partition that could not be added; 0: all are."""
    codes = {
        row.partition_error_code
        for topic in answer.results_by_topic_v3_and_below
        for row in topic.results_by_partition
    }
    return min(codes - {ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED}, default=0)


def _name_of(request: object) -> str:
    return message_of(type(request)).name.removesuffix("Request")
