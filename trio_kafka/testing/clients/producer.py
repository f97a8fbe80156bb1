"""Producer for tests: acks, retries, idempotence, one batch in flight."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest
from trio_kafka.records.batch import NO_PRODUCER, ProducerFields, Record, encode_batch
from trio_kafka.testing.checkers.history import History
from trio_kafka.testing.clients.errors import AnswerError, DeliveryError, GaveUpError, check
from trio_kafka.testing.clients.link import Link
from trio_kafka.world.world import World

_PRODUCE: Final = 12  # the newest version that names topics
_INIT_PRODUCER_ID: Final = 4
# A broker that has deleted the batches of a producer no longer knows its sequence.
_FRESH_START: Final = {ErrorCode.UNKNOWN_PRODUCER_ID, ErrorCode.INVALID_PRODUCER_EPOCH}


@define(eq=False, kw_only=True)
class Producer:
    """Sends batches one after the other and repeats each until it is answered.

    name: of its events in the history; also the client id.
    acks: -1, 1 or 0. idempotent: give batches sequence numbers, so that a repeated batch is
        appended once; needs acks=-1.
    retries: False: give a batch up after its first failure.
    delivery_s: time for all attempts of a batch.
    """

    world: World
    bootstrap: Endpoint
    name: str = "producer"
    acks: int = -1
    idempotent: bool = True
    retries: bool = True
    delivery_s: float = 120.0
    request_s: float = 5.0
    history: History | None = None
    producer_id: int = field(default=-1, init=False)
    epoch: int = field(default=-1, init=False)
    link: Link = field(init=False)
    _sequences: defaultdict[TopicPartition, int] = field(
        factory=lambda: defaultdict(int), init=False
    )
    _turn: trio.Lock = field(factory=trio.Lock, init=False)

    def __attrs_post_init__(self) -> None:
        if self.idempotent and self.acks != -1:
            raise ValueError(f"acks={self.acks} with idempotence: want acks=-1")
        self.link = Link(
            world=self.world,
            bootstrap=self.bootstrap,
            client_id=self.name,
            request_s=self.request_s,
        )

    async def __aenter__(self) -> "Producer":
        return self

    async def __aexit__(self, *_: object) -> None:
        self.link.close()

    async def send(
        self, topic: str, *values: bytes, partition: int = 0, key: bytes | None = None
    ) -> int:
        """Send values as one batch and return the offset of the first one; -1 if it is not known.

        Raises DeliveryError. Several tasks may send; their batches go one after the other.
        """
        if not values:
            raise ValueError("no values: a batch needs at least one")
        async with self._turn:
            await self._identify()
            self._note_sent(topic, partition, values)
            at = TopicPartition(topic, partition)
            data = self._encode(values, key, self._sequences[at])
            request = ProduceRequest(
                acks=self.acks,
                timeout_ms=round(self.request_s * 1000),
                topic_data=[TopicProduceData(topic, partition_data=[_data(partition, data)])],
            )
            if self.acks == 0:
                return await self._send_unanswered(request)
            offset = await self._deliver(request, at)
            if self.idempotent:
                self._sequences[at] = (self._sequences[at] + len(values)) & 0x7FFFFFFF
            self._note_acknowledged(at, values, offset)
            return offset

    async def _identify(self) -> None:
        """Get a producer id, if the producer needs one and has none."""
        if not self.idempotent or self.producer_id >= 0:
            return

        async def attempt() -> None:
            answer = await self.link.ask(InitProducerIdRequest(None, 0), _INIT_PRODUCER_ID)
            check(answer.error_code)
            self.producer_id, self.epoch = answer.producer_id, answer.producer_epoch

        try:
            await self.link.retry(attempt, self.delivery_s)
        except (AnswerError, GaveUpError) as error:
            raise DeliveryError(f"no producer id: {error}", unknown=False) from error
        self._sequences.clear()

    def _encode(self, values: Sequence[bytes], key: bytes | None, sequence: int) -> bytes:
        now_ms = int(self.world.clock.wall() * 1000)
        fields = ProducerFields(self.producer_id, self.epoch, sequence)
        return encode_batch(
            [Record(timestamp=now_ms, key=key, value=value) for value in values],
            producer=fields if self.idempotent else NO_PRODUCER,
        )

    async def _send_unanswered(self, request: ProduceRequest) -> int:
        try:
            await self.link.tell(request, _PRODUCE)
        except OSError as error:
            raise DeliveryError(f"not sent: {error}", unknown=True) from error
        return -1

    async def _deliver(self, request: ProduceRequest, at: TopicPartition) -> int:
        attempts = 0

        async def attempt() -> int:
            nonlocal attempts
            attempts += 1
            answer = await self.link.ask(request, _PRODUCE)
            (row,) = answer.responses[0].partition_responses
            if row.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
                return -1
            check(row.error_code)
            offset: int = row.base_offset
            return offset

        try:
            return await self.link.retry(attempt, self.delivery_s if self.retries else 0.0)
        except AnswerError as error:
            if error.code in _FRESH_START or self.idempotent:
                self.producer_id = -1
            # An earlier attempt without an answer may have been appended.
            raise DeliveryError(f"{at}: {error}", unknown=attempts > 1) from error
        except GaveUpError as error:
            # Its sequence may be taken or not, so no batch can follow under this producer id.
            self.producer_id = -1
            raise DeliveryError(f"{at}: {error}", unknown=True) from error

    def _note_sent(self, topic: str, partition: int, values: Sequence[bytes]) -> None:
        if self.history is not None:
            for value in values:
                self.history.sent(
                    self.name, topic, value, partition=partition, idempotent=self.idempotent
                )

    def _note_acknowledged(self, at: TopicPartition, values: Sequence[bytes], offset: int) -> None:
        if self.history is not None:
            for number, value in enumerate(values):
                place = -1 if offset < 0 else offset + number
                self.history.acknowledged(self.name, at.topic, at.partition, value, offset=place)


def _data(partition: int, batch: bytes) -> PartitionProduceData:
    return PartitionProduceData(partition, memoryview(batch))
