"""Machines of the consumer beside metadata of two brokers."""

from trio_kafka.clients.consumer.fetch_requests import FetchRequests
from trio_kafka.clients.consumer.fetch_responses import FetchResponses
from trio_kafka.clients.consumer.fetch_rows import FetchLimits, FetchRows
from trio_kafka.clients.consumer.offset_requests import OffsetRequests
from trio_kafka.clients.consumer.positions import Positions
from trio_kafka.clients.consumer.values import Position
from trio_kafka.clients.metadata.cache import MetadataCache
from trio_kafka.clients.metadata.values import BrokerAddress, PartitionLeader, TopicMetadata
from trio_kafka.clients.settings.reset import OffsetReset
from trio_kafka.model import Endpoint, TopicPartition
from trio_kafka.peers.backoff import Backoff
from trio_kafka.protocol.messages.k01_fetch import (
    FetchableTopicResponse,
    FetchResponse,
    PartitionData,
)
from trio_kafka.records.batch import Record, encode_batch

TOPIC = bytes(15) + b"1"


def cache_of(epoch: int = 0, node: int = 1) -> MetadataCache:
    """Metadata with the topic t of two partitions, whose leader is one of two brokers."""
    cache = MetadataCache()
    cache.brokers = {number: BrokerAddress(Endpoint("b", number)) for number in (1, 2)}
    lead(cache, epoch, node)
    return cache


def lead(cache: MetadataCache, epoch: int, node: int = 1) -> None:
    """Let a broker lead all partitions from an epoch on."""
    partitions = {number: PartitionLeader(node, epoch, (1, 2)) for number in (0, 1)}
    cache.topics["t"] = TopicMetadata(name="t", topic_id=TOPIC, partitions=partitions)
    cache._names[TOPIC] = "t"
    cache.updates += 1


def machines(
    cache: MetadataCache, timestamp: int | None = -2, max_bytes: int = 1000
) -> tuple[Positions, FetchRequests, OffsetRequests]:
    """Positions, and the requests for them."""
    positions = Positions()
    offsets = OffsetRequests(
        positions=positions,
        cache=cache,
        reset=OffsetReset(timestamp=timestamp),
        isolation=0,
        backoff=Backoff(0.1, 1.0),
    )
    limits = FetchLimits(max_bytes=max_bytes, partition_bytes=500, min_bytes=1, max_wait_ms=500)
    rows = FetchRows(
        positions=positions,
        cache=cache,
        limits=limits,
        backoff=Backoff(0.1, 1.0),
        resolve=offsets.add,
    )
    return positions, FetchRequests(rows), offsets


def reading(
    *places: TopicPartition, max_bytes: int = 1000
) -> tuple[MetadataCache, Positions, FetchRequests, FetchResponses]:
    """Machines that read partitions from their first offsets."""
    cache = cache_of()
    positions, fetches, _ = machines(cache, max_bytes=max_bytes)
    positions.assign(places)
    for at in places:
        positions.seek(at, Position(0))
    return cache, positions, fetches, FetchResponses(fetches.rows)


def response(*parts: PartitionData) -> FetchResponse:
    """Response to a Fetch of the topic t."""
    topic = FetchableTopicResponse(topic_id=TOPIC, partitions=list(parts))
    return FetchResponse(session_id=7, responses=[topic])


def data(start: int, size: int) -> memoryview:
    """Batch of one record of some bytes."""
    return memoryview(encode_batch([Record(value=bytes(size), timestamp=0)], start, 0))
