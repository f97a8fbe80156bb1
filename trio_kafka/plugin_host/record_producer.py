"""Producer of records for plugins, by requests to this broker; imported with the first use.

A batch for each partition. What is rejected because the topic, or its leader, is still being
created is sent again: nothing of it was appended.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Final, Protocol

import trio
from attrs import evolve

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import MetadataImage, TopicImage
from trio_kafka.plugin_host.records import RecordPosition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k03_metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
)
from trio_kafka.records.batch import BatchBody, Record, encode_batch
from trio_kafka.records.header import NO_TIMESTAMP
from trio_kafka.records.partitioner import partition_of
from trio_kafka.world.world import World

RETRY_S: Final = 0.05  # between two attempts while a topic is being created
_STEP: Final = 32  # records per step: about 0.3 ms
_NEXT_OFFSET: Final = -1
# Nothing was appended: the topic is being created, or its leader is.
_NOT_YET: Final = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
    }
)


class Ask(Protocol):
    """Sender of a request to this broker."""

    async def __call__(self, request: object, /) -> object:
        """Return the response; None if it has none."""


class Producer:
    """Producer of records in requests to this broker.

    image: returns the newest metadata. creates_topics: a topic is created by its name.
    """

    def __init__(
        self, ask: Ask, image: Callable[[], MetadataImage], world: World, *, creates_topics: bool
    ) -> None:
        self._ask = ask
        self._image = image
        self._world = world
        self._creates_topics = creates_topics

    async def produce(
        self,
        topic: str,
        records: Iterable[Record],
        *,
        partition: int | None,
        acks: int,
        timeout_s: float,
    ) -> list[RecordPosition]:
        """See `PluginContext.produce`."""
        deadline = trio.current_time() + timeout_s
        with trio.move_on_at(deadline):
            return await self._produce(
                topic, list(records), partition, acks=acks, deadline=deadline
            )
        reason = f"{topic}: the records were not appended within {timeout_s:g} s"
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, reason)

    async def _produce(
        self,
        topic: str,
        records: list[Record],
        partition: int | None,
        *,
        acks: int,
        deadline: float,
    ) -> list[RecordPosition]:
        if not records:
            await trio.lowlevel.checkpoint()
            return []
        image = await self._topic(topic)
        numbers = self._partitions(image, records, partition)
        pending = await self._encoded(records, numbers)
        bases: dict[int, int] = {}
        while True:
            rows = await self._append(image, pending, acks, deadline=deadline)
            bases |= {number: row.base_offset for number, row in rows.items() if not row.error_code}
            failed = {number: row for number, row in rows.items() if row.error_code}
            if not failed:
                return _positions(numbers, bases, acks)
            _raise_unless_retriable(topic, failed, len(pending))
            pending = {number: pending[number] for number in failed}
            await trio.sleep(RETRY_S)
            image = await self._topic(topic)

    async def _topic(self, name: str) -> TopicImage:
        """Return a topic; the broker creates it as for any client. Raises KafkaError."""
        while (topic := self._image().topics.get(name)) is None:
            request = MetadataRequest(
                [MetadataRequestTopic(name=name)], allow_auto_topic_creation=True
            )
            response = await self._ask(request)
            if isinstance(response, MetadataResponse):
                for row in response.topics:
                    self._check_creation(name, row.error_code)
            await trio.sleep(RETRY_S)
        return topic

    def _check_creation(self, name: str, error: int) -> None:
        """Raise KafkaError unless the topic exists or is being created."""
        if error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and not self._creates_topics:
            reason = f"no topic {name}, and auto.create.topics.enable is false"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
        if error and error not in _NOT_YET:
            raise KafkaError(ErrorCode(error), f"topic {name} cannot be created")

    def _partitions(
        self, topic: TopicImage, records: list[Record], partition: int | None
    ) -> list[int]:
        """Return the partition of each record: the given one, or as Kafka's producers choose it."""
        count = len(topic.partitions)
        if partition is not None:
            if not 0 <= partition < count:
                reason = f"{topic.name}-{partition}: the topic has {count} partitions"
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
            return [partition] * len(records)
        without_key = self._world.random.randrange(count)
        return [
            without_key if record.key is None else partition_of(record.key, count)
            for record in records
        ]

    async def _encoded(self, records: list[Record], numbers: list[int]) -> dict[int, memoryview]:
        """Return one batch for each partition."""
        now_ms = int(self._world.clock.wall() * 1000)
        bodies: dict[int, BatchBody] = {}
        for number, (record, partition) in enumerate(zip(records, numbers, strict=True), 1):
            timestamp = now_ms if record.timestamp == NO_TIMESTAMP else record.timestamp
            body = bodies.setdefault(partition, BatchBody())
            body.add(evolve(record, offset=_NEXT_OFFSET, timestamp=timestamp))
            if not number % _STEP:
                await trio.lowlevel.checkpoint()
        return {
            partition: memoryview(bytearray(encode_batch(body)))
            for partition, body in bodies.items()
        }

    async def _append(
        self, topic: TopicImage, batches: Mapping[int, memoryview], acks: int, *, deadline: float
    ) -> dict[int, PartitionProduceResponse]:
        """Append batches; return the row of each partition, none with acks=0."""
        left_s = max(deadline - trio.current_time(), 0.0)
        data = [PartitionProduceData(number, batch) for number, batch in batches.items()]
        request = ProduceRequest(
            acks=acks,
            timeout_ms=min(int(left_s * 1000), (1 << 31) - 1),
            topic_data=[TopicProduceData(topic.name, topic.id, data)],
        )
        response = await self._ask(request)
        if not isinstance(response, ProduceResponse):
            return {}
        return {row.index: row for part in response.responses for row in part.partition_responses}


def _positions(numbers: list[int], bases: Mapping[int, int], acks: int) -> list[RecordPosition]:
    """Return the place of each record: those of a partition follow one another."""
    if not acks:
        return [RecordPosition(number, -1) for number in numbers]
    following = dict(bases)
    positions = []
    for number in numbers:
        positions.append(RecordPosition(number, following[number]))
        following[number] += 1
    return positions


def _raise_unless_retriable(
    topic: str, failed: Mapping[int, PartitionProduceResponse], batches: int
) -> None:
    """Raise the KafkaError of the first partition whose error is final."""
    for number, row in failed.items():
        is_declared = row.error_code in set(ErrorCode)
        code = ErrorCode(row.error_code) if is_declared else ErrorCode.UNKNOWN_SERVER_ERROR
        if code not in _NOT_YET:
            reason = row.error_message or code.name
            appended = f"; {batches - len(failed)} of {batches} partitions were appended to"
            raise KafkaError(code, f"{topic}-{number}: {reason}{appended if batches > 1 else ''}")
