"""Kit for tests of handlers: a broker in virtual time, batches as producers send them, and short
ways to write and read.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import attrs
import trio

from tests.records.kit import encode_batch
from trio_kafka.model import NodeId
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from trio_kafka.protocol.messages.k20_delete_topics import DeleteTopicsRequest
from trio_kafka.protocol.schema import message_of
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.testing.broker import ServedBroker, newest, served_broker
from trio_kafka.testing.scripted_client import ScriptedClient
from trio_kafka.testing.simulation import simulated_world
from trio_kafka.world.clock import EPOCH

NOW_MS = int(EPOCH * 1000)  # what the simulated world's clock shows first
IDS_SINCE = 13  # of Produce and Fetch
TWO_LISTENERS = {
    "listeners": "ONE://127.0.0.1:0,TWO://127.0.0.1:0",
    "listener.security.protocol.map": "ONE:PLAINTEXT,TWO:PLAINTEXT",
    "inter.broker.listener.name": "ONE",
}


def stable(request: type[Any]) -> range:
    """All versions of a request that are served."""
    return range(message_of(request).versions[0], newest(request) + 1)


@asynccontextmanager
async def broker(settings: Mapping[str, str] | None = None) -> AsyncIterator[ServedBroker]:
    """A new broker in a simulated world of its own."""
    async with served_broker(simulated_world(), settings) as served:
        yield served


def batch(*values: bytes | None, timestamp: int = NOW_MS, **fields: Any) -> memoryview:
    """A batch of records that have no keys."""
    records = [Record(value=value, timestamp=timestamp) for value in values]
    return memoryview(bytearray(encode_batch(records, **fields)))


def produce_request(
    topic: str | bytes, *parts: tuple[int, memoryview | None], acks: int = 1
) -> ProduceRequest:
    """A Produce for partitions of one topic; the topic's id is for version 13 on."""
    data = [PartitionProduceData(number, records) for number, records in parts]
    named = {"name": topic} if isinstance(topic, str) else {"topic_id": topic}
    return ProduceRequest(
        acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(**named, partition_data=data)]
    )


def parts_of(answer: ProduceResponse) -> list[PartitionProduceResponse]:
    return [part for topic in answer.responses for part in topic.partition_responses]


async def produce(
    client: ServedBroker | ScriptedClient,
    topic: str | bytes,
    records: memoryview | None,
    *,
    partition: int = 0,
    acks: int = 1,
    version: int | None = None,
) -> PartitionProduceResponse:
    """Write to one partition; the answer's only part."""
    if version is None:
        version = IDS_SINCE - isinstance(topic, str)
    request = produce_request(topic, (partition, records), acks=acks)
    (part,) = parts_of(await client.ask(request, version))
    return part


async def write(client: ServedBroker | ScriptedClient, topic: str, *values: bytes) -> int:
    """Write one batch to partition 0; its first offset."""
    part = await produce(client, topic, batch(*values))
    assert part.error_code == 0
    return part.base_offset


def fetch_request(
    topic: str | bytes | None,
    *offsets: int | FetchPartition,
    max_wait_ms: int = 0,
    min_bytes: int = 1,
    max_bytes: int = 1 << 20,
    partition_max_bytes: int = 1 << 20,
    **others: Any,
) -> FetchRequest:
    """A Fetch of partitions 0, 1, ... of one topic from these offsets; topic None: of nothing."""
    partitions = [
        offset
        if isinstance(offset, FetchPartition)
        else FetchPartition(number, fetch_offset=offset, partition_max_bytes=partition_max_bytes)
        for number, offset in enumerate(offsets)
    ]
    named = {"topic": topic} if isinstance(topic, str) else {"topic_id": topic}
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[] if topic is None else [FetchTopic(**named, partitions=partitions)],
        **others,
    )


def partitions_of(answer: FetchResponse) -> list[PartitionData]:
    return [part for topic in answer.responses for part in topic.partitions]


async def fetch(
    client: ServedBroker | ScriptedClient,
    topic: str | bytes,
    offset: int | FetchPartition = 0,
    *,
    version: int | None = None,
    **others: Any,
) -> PartitionData:
    """Read partition 0; the answer's only part."""
    if version is None:
        version = IDS_SINCE - isinstance(topic, str)
    answer = await client.ask(fetch_request(topic, offset, **others), version)
    (part,) = partitions_of(answer)
    return part


def records_of(part: PartitionData) -> list[Record]:
    """The records of all whole batches, decoded."""
    data = memoryview(bytes(part.records or b""))
    return [
        record
        for position, header in iterate_headers(data)
        for record in read_records(data, position, header)
    ]


def values_of(part: PartitionData) -> list[bytes | None]:
    return [record.value for record in records_of(part)]


def sizes_of(part: PartitionData) -> list[int]:
    """The sizes of the batches."""
    return [header.size for _, header in iterate_headers(memoryview(bytes(part.records or b"")))]


def codes(rows: Sequence[Any]) -> list[int]:
    return [row.error_code for row in rows]


async def delete_topic(served: ServedBroker, name: str) -> None:
    (gone,) = (
        await served.ask(DeleteTopicsRequest(topic_names=[name], timeout_ms=1000), 5)
    ).responses
    assert gone.error_code == 0


async def lead_elsewhere(served: ServedBroker) -> None:
    """Let broker 7 lead partition 0 of topic "t", at ("there", 9999).

    Behind the back of the controller: a broker alone has nobody to give a partition to.
    """
    (partition,) = served.broker.replicas.partitions
    cache, other = served.broker.metadata, NodeId(7)
    image = cache.image
    me = image.brokers[served.broker.parts.node_id]
    there = tuple(attrs.evolve(endpoint, host="there", port=9999) for endpoint in me.endpoints)
    broker = attrs.evolve(me, id=other, endpoints=there, rack="r")
    topic = image.topics["t"]
    state = attrs.evolve(
        topic.partitions[0],
        leader=other,
        leader_epoch=5,
        replicas=(me.id, other),
        isr=(other,),
        directories=(),  # of nobody, as before directories had ids
    )
    topic = attrs.evolve(topic, partitions={0: state})
    cache.image = attrs.evolve(
        image, brokers={**image.brokers, other: broker}, topics={**image.topics, "t": topic}
    )
    partition.update(state)
    await trio.lowlevel.checkpoint()
