"""Transactional producer for tests, in either protocol, one transaction at a time.

It writes its frames itself, for what `trio_kafka.clients` never does: it speaks the older protocol
to a broker that has the newer one, as Python's clients do; it leaves a transaction open, as a crash
does; and a test may send its EndTxn once more by another connection.

A transaction whose end is not known is given up: the next one begins as a new producer of the same
transactional id, which ends the one before.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Literal, TypeVar

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k10_find_coordinator import FindCoordinatorRequest
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.records.batch import ProducerFields, Record, encode_batch
from trio_kafka.records.header import TRANSACTIONAL
from trio_kafka.testing.checkers.history import History, NotedTransaction
from trio_kafka.testing.clients.errors import AnswerError, DeliveryError, GaveUpError, check
from trio_kafka.testing.clients.link import Link
from trio_kafka.world.world import World

T = TypeVar("T")
OLD: Final = 1
NEW: Final = 2  # KIP-890: Produce adds partitions, each end gives a new epoch
_FIND_COORDINATOR: Final = 3  # the last version with one key
_TRANSACTION_KEY: Final = 1
_INIT_PRODUCER_ID: Final = 4
_ADD_PARTITIONS: Final = 3
_PRODUCE: Final = {OLD: 11, NEW: 12}
_END: Final = {OLD: 4, NEW: 5}


@define(eq=False, kw_only=True)
class TransactionalProducer:
    """Producer with a transactional id.

    protocol: 1: partitions are added by AddPartitionsToTxn, as Python clients do; 2: as Java does.
    timeout_s: age after which the broker aborts a transaction.
    delivery_s: time for all attempts of a request. history: its transactions are noted there.
    """

    world: World
    bootstrap: Endpoint
    transactional_id: str
    name: str = "producer"
    protocol: Literal[1, 2] = NEW
    timeout_s: float = 60.0
    request_s: float = 5.0
    delivery_s: float = 60.0
    history: History = field(factory=History)
    link: Link = field(init=False)
    _identity: tuple[int, int] | None = field(default=None, init=False)
    _sequences: defaultdict[TopicPartition, int] = field(
        factory=lambda: defaultdict(int), init=False
    )
    _noted: NotedTransaction | None = field(default=None, init=False)
    _partitions: set[TopicPartition] = field(factory=set, init=False)
    _failed: bool = field(default=False, init=False)

    def __attrs_post_init__(self) -> None:
        self.link = Link(
            world=self.world,
            bootstrap=self.bootstrap,
            client_id=self.name,
            request_s=self.request_s,
        )

    async def __aenter__(self) -> "TransactionalProducer":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.link.close()

    async def begin(self) -> None:
        """Begin a transaction. Raises DeliveryError if the producer gets no id."""
        self._noted = self.history.transaction(self.name)
        self._partitions.clear()
        self._failed = False
        if self._identity is None:
            await self._initialize()

    async def send(self, topic: str, *values: bytes, partition: int = 0) -> int:
        """Send values as one batch of the transaction; return the offset of the first.

        Raises DeliveryError: the transaction can only be aborted.
        """
        noted, (producer_id, epoch) = self._open()
        at = TopicPartition(topic, partition)
        for value in values:
            noted.sent(topic, value, partition=partition)
        try:
            if self.protocol == OLD and at not in self._partitions:
                await self._retry(lambda: self._add(at))
            self._partitions.add(at)
            fields = ProducerFields(producer_id, epoch, self._sequences[at])
            request = self._produce_request(at, values, fields)
            offset = await self._retry(lambda: self._produce(request))
        except DeliveryError:
            self._failed = True
            raise
        self._sequences[at] += len(values)
        for number, value in enumerate(values):
            place = -1 if offset < 0 else offset + number
            noted.acknowledged(topic, partition, value, offset=place)
        return offset

    async def commit(self) -> None:
        """Commit. Raises DeliveryError: the outcome is unknown."""
        noted, _ = self._open()
        noted.committing()
        await self._end(commits=True)
        noted.committed()

    async def abort(self) -> None:
        """Abort. Raises DeliveryError: the broker aborts it later."""
        noted, _ = self._open()
        await self._end(commits=False)
        noted.aborted()

    @property
    def end_version(self) -> int:
        """Version of EndTxn in the producer's protocol."""
        return _END[self.protocol]

    def end_request(self, *, commits: bool) -> EndTxnRequest:
        """Return the request that ends the open transaction, as `commit` and `abort` send it."""
        _, (producer_id, epoch) = self._open()
        return EndTxnRequest(self.transactional_id, producer_id, epoch, commits)

    def give_up(self) -> None:
        """Leave the transaction open, as a client that crashes does, and begin anew next time."""
        self._identity = self._noted = None
        self.link.close()

    def _open(self) -> tuple[NotedTransaction, tuple[int, int]]:
        if self._noted is None or self._identity is None:
            raise ValueError("no transaction: want begin() first")
        return self._noted, self._identity

    async def _initialize(self) -> None:
        async def find() -> None:
            request = FindCoordinatorRequest(self.transactional_id, _TRANSACTION_KEY)
            check((await self.link.ask(request, _FIND_COORDINATOR)).error_code)

        async def initialize() -> tuple[int, int]:
            request = InitProducerIdRequest(self.transactional_id, round(self.timeout_s * 1000))
            answer = await self.link.ask(request, _INIT_PRODUCER_ID)
            check(answer.error_code)
            return answer.producer_id, answer.producer_epoch

        await self._retry(find)
        self._identity = await self._retry(initialize)
        self._sequences.clear()

    async def _add(self, at: TopicPartition) -> None:
        _, (producer_id, epoch) = self._open()
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(at.topic, [at.partition])],
        )
        answer = await self.link.ask(request, _ADD_PARTITIONS)
        check(answer.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)

    def _produce_request(
        self, at: TopicPartition, values: Sequence[bytes], fields: ProducerFields
    ) -> ProduceRequest:
        now_ms = int(self.world.clock.wall() * 1000)
        records = [Record(timestamp=now_ms, value=value) for value in values]
        batch = encode_batch(records, producer=fields, attributes=TRANSACTIONAL)
        data = PartitionProduceData(at.partition, memoryview(batch))
        return ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=round(self.request_s * 1000),
            topic_data=[TopicProduceData(at.topic, partition_data=[data])],
        )

    async def _produce(self, request: ProduceRequest) -> int:
        answer = await self.link.ask(request, _PRODUCE[self.protocol])
        (row,) = answer.responses[0].partition_responses
        if row.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
            return -1
        check(row.error_code)
        offset: int = row.base_offset
        return offset

    async def _end(self, *, commits: bool) -> None:
        request = self.end_request(commits=commits)
        self._noted = None
        if not self._partitions and not self._failed:
            return  # nothing to end: the broker knows of no transaction

        async def attempt() -> tuple[int, int]:
            answer = await self.link.ask(request, self.end_version)
            check(answer.error_code)
            return answer.producer_id, answer.producer_epoch

        failed = self._failed
        identity, self._identity = self._identity, None
        answered = await self._retry(attempt)
        if failed:
            return  # a sequence may be used or not: only a new epoch begins at 0
        if self.protocol == NEW:
            identity = answered
            self._sequences.clear()
        self._identity = identity

    async def _retry(self, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            return await self.link.retry(attempt, self.delivery_s)
        except (AnswerError, GaveUpError) as error:
            raise DeliveryError(f"{self.transactional_id}: {error}") from error
