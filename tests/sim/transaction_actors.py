"""Producers, readers and leaders of the joint model of transactions, and what each was promised.

Every producer speaks to a whole broker in virtual time by Kafka's own requests. A request that has
no usable answer in time fails the run, so a hang is a failure.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Mapping
from enum import Enum
from typing import Final, TypeVar

from attrs import define, field

from trio_kafka.errors import ErrorCode
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.protocol.messages.k24_add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
)
from trio_kafka.protocol.messages.k26_end_txn import EndTxnRequest
from trio_kafka.records.batch import ProducerFields, Record, encode_batch
from trio_kafka.records.header import TRANSACTIONAL
from trio_kafka.testing.clients.errors import AnswerError, check
from trio_kafka.testing.clients.link import Link
from trio_kafka.testing.clients.reading import fetch

T = TypeVar("T")
TOPICS: Final = ("joint-a", "joint-b")
PARTITIONS: Final = tuple(TopicPartition(topic, 0) for topic in TOPICS)
TIMEOUT_S: Final = 8.0  # of a transaction
PATIENCE_S: Final = 40.0  # for a usable answer
OLD, NEW = 1, 2  # protocols of transactions
NAMES: Final = {"old": OLD, "new": NEW}  # protocol of each transactional id
_INIT_PRODUCER_ID: Final = 4
_ADD_PARTITIONS: Final = 3
_PRODUCE: Final = {OLD: 11, NEW: 12}
_END: Final = {OLD: 4, NEW: 5}
_MAYBE_DONE: Final = frozenset(
    {
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    }
)


class Fate(Enum):
    """End of a transaction, as its producer knows it."""

    OPEN = "open"
    COMMITTING = "committing"  # asked for; it may be committed or not
    COMMITTED = "committed"
    ABORTED = "aborted"


@define(eq=False)
class Written:
    """Transaction of one producer. values: by value, whether the broker has acknowledged it; one
    that is not may be in the log nevertheless.
    """

    fate: Fate = Fate.OPEN
    values: dict[bytes, bool] = field(factory=dict)


@define(eq=False, kw_only=True)
class Identity:
    """Producer id and epoch, with what was written under them."""

    name: str
    producer_id: int
    epoch: int
    sequences: dict[TopicPartition, int] = field(factory=lambda: defaultdict(int))
    transaction: Written = field(factory=Written)

    @property
    def protocol(self) -> int:
        return NAMES[self.name]


@define(eq=False)
class Asking:
    """One request with its retries. lost: an attempt had no answer, so it may have been done."""

    link: Link
    lost: bool = False

    async def ask(self, attempt: Callable[[], Awaitable[T]]) -> "T | ErrorCode":
        """Return the answer or the error that does not pass. Raises GaveUpError: it hangs."""

        async def noting() -> T:
            try:
                return await attempt()
            except (OSError, EOFError):
                self.lost = True
                raise
            except AnswerError as error:
                self.lost = self.lost or error.code in _MAYBE_DONE
                raise

        try:
            return await self.link.retry(noting, PATIENCE_S)
        except AnswerError as error:
            return error.code

    async def initialize(self, name: str, expected: Identity | None) -> "Identity | ErrorCode":
        """Ask for an identity. expected: the one to continue, or None."""
        continued = (-1, -1) if expected is None else (expected.producer_id, expected.epoch)
        request = InitProducerIdRequest(name, round(TIMEOUT_S * 1000), *continued)

        async def attempt() -> Identity:
            answer = await self.link.ask(request, _INIT_PRODUCER_ID)
            check(answer.error_code)
            return Identity(name=name, producer_id=answer.producer_id, epoch=answer.producer_epoch)

        return await self.ask(attempt)

    async def add(self, identity: Identity, at: TopicPartition) -> ErrorCode:
        """Add a partition to the transaction."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=identity.name,
            v3_and_below_producer_id=identity.producer_id,
            v3_and_below_producer_epoch=identity.epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(at.topic, [at.partition])],
        )

        async def attempt() -> ErrorCode:
            answer = await self.link.ask(request, _ADD_PARTITIONS)
            (topic,) = answer.results_by_topic_v3_and_below
            check(topic.results_by_partition[0].partition_error_code)
            return ErrorCode.NONE

        return await self.ask(attempt)

    async def produce(self, identity: Identity, at: TopicPartition, value: bytes) -> ErrorCode:
        """Write a value as the next batch of the producer in a partition."""
        sequence = identity.sequences[at]
        identity.sequences[at] += 1
        fields = ProducerFields(identity.producer_id, identity.epoch, sequence)
        now_ms = int(self.link.world.clock.wall() * 1000)
        batch = encode_batch(
            [Record(timestamp=now_ms, value=value)], producer=fields, attributes=TRANSACTIONAL
        )
        data = PartitionProduceData(at.partition, memoryview(batch))
        request = ProduceRequest(
            transactional_id=identity.name,
            acks=-1,
            timeout_ms=5000,
            topic_data=[TopicProduceData(at.topic, partition_data=[data])],
        )

        async def attempt() -> ErrorCode:
            answer = await self.link.ask(request, _PRODUCE[identity.protocol])
            (row,) = answer.responses[0].partition_responses
            check(row.error_code)
            return ErrorCode.NONE

        code = await self.ask(attempt)
        if code and not self.lost and identity.sequences[at] == sequence + 1:
            identity.sequences[at] = sequence  # refused: not used up
        return code

    async def end(self, identity: Identity, *, commits: bool) -> "tuple[int, int] | ErrorCode":
        """End the transaction. Return id and epoch for the next one."""
        request = EndTxnRequest(identity.name, identity.producer_id, identity.epoch, commits)

        async def attempt() -> tuple[int, int]:
            answer = await self.link.ask(request, _END[identity.protocol])
            check(answer.error_code)
            if identity.protocol == OLD:
                return identity.producer_id, identity.epoch
            return answer.producer_id, answer.producer_epoch

        return await self.ask(attempt)


@define(eq=False)
class Reader:
    """Reader of committed records. seen: values in the order of each partition. stable: last stable
    offsets. Raises AssertionError for a value that no producer has asked to commit.
    """

    link: Link
    fates: Mapping[bytes, Written]
    positions: dict[TopicPartition, int] = field(factory=lambda: dict.fromkeys(PARTITIONS, 0))
    seen: dict[TopicPartition, list[bytes]] = field(factory=lambda: {at: [] for at in PARTITIONS})
    stable: dict[TopicPartition, int] = field(factory=lambda: dict.fromkeys(PARTITIONS, 0))

    async def poll(self, max_wait_s: float = 0.0) -> None:
        """Read on from the positions."""

        async def attempt() -> None:
            rows = await fetch(self.link, self.positions, max_wait_s=max_wait_s, committed=True)
            for row in rows.values():
                check(row.error)
            for at, row in rows.items():
                assert row.stable >= self.stable[at], f"{at}: the last stable offset has fallen"
                assert row.stable <= row.high_watermark
                self.stable[at] = row.stable
                self.positions[at] = row.end
                for record in row.records:
                    self._see(at, record.value or b"")

        await self.link.retry(attempt, PATIENCE_S)

    def _see(self, at: TopicPartition, value: bytes) -> None:
        transaction = self.fates.get(value)
        assert transaction is not None, f"{at}: {value!r} was refused, and is read"
        fate = transaction.fate
        assert fate in {Fate.COMMITTING, Fate.COMMITTED}, f"{at}: {value!r} is {fate.value}"
        self.seen[at].append(value)
