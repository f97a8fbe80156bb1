"""A broker that masks, with records in it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from tests.records.kit import encode_batch
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import FetchPartition, FetchRequest, FetchTopic
from trio_kafka.records.batch import Record, iterate_headers, read_records
from trio_kafka.testing.broker import ServedBroker, served_broker
from trio_kafka.testing.simulation import simulated_world
from trio_kafka_builtin.mask.plugin import mask

RULES = "people*: ssn=redact"
PERSON = {"ssn": "078-05-1120", "name": "Ann"}
LARGE = 1 << 20


@asynccontextmanager
async def masking(**settings: str) -> AsyncIterator[ServedBroker]:
    enabled = {"enabled": "true", "rules": RULES, **settings}
    full = {f"plugin.mask.{name.replace('_', '.')}": text for name, text in enabled.items()}
    async with served_broker(simulated_world(), full, plugins=(mask,)) as served:
        yield served


def batch(*values: Any, **facts: Any) -> bytes:
    """values: bytes, or what becomes JSON."""
    texts = [value if isinstance(value, bytes) else json.dumps(value).encode() for value in values]
    return encode_batch([Record(timestamp=1, value=text) for text in texts], **facts)


async def produce(served: ServedBroker, topic: str, data: bytes, partition: int = 0) -> None:
    topic_id = served.broker.metadata.image.topics[topic].id
    parts = [PartitionProduceData(partition, memoryview(data))]
    topics = [TopicProduceData(topic_id=topic_id, partition_data=parts)]
    answer = await served.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topics))
    assert answer.responses[0].partition_responses[0].error_code == 0


def fetch(served: ServedBroker, topic: str, *partitions: int, **facts: Any) -> FetchRequest:
    """facts: of the request; `most`: bytes of each partition, `offset`: from which on."""
    most, offset = facts.pop("most", LARGE), facts.pop("offset", 0)
    topic_id = served.broker.metadata.image.topics[topic].id
    topic_partitions = [
        FetchPartition(partition=partition, fetch_offset=offset, partition_max_bytes=most)
        for partition in partitions or (0,)
    ]
    fields = {"max_wait_ms": 0, "min_bytes": 0, "max_bytes": LARGE, "session_epoch": -1, **facts}
    return FetchRequest(
        topics=[FetchTopic(topic_id=topic_id, partitions=topic_partitions)], **fields
    )


def parts_of(answer: Any) -> list[Any]:
    return [part for topic in answer.responses for part in topic.partitions]


def values_of(part: Any) -> list[Any]:
    data = bytes(part.records or b"")
    return [
        record.value
        for position, header in iterate_headers(data)
        for record in read_records(data, position, header)
    ]
