"""Records of a broker under test: produce, read."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from trio_kafka.broker import RunningBroker
from trio_kafka.controls.ask import ask, check
from trio_kafka.controls.topics import first_offsets
from trio_kafka.controls.values import Bytes, Record, StoredRecord, as_bytes
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.image import TopicImage
from trio_kafka.model import TopicPartition
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from trio_kafka.records import batch
from trio_kafka.records.committed import committed_batches
from trio_kafka.records.header import TRANSACTIONAL
from trio_kafka.records.partitioner import partition_of
from trio_kafka.testing.kafka.transactions import OpenTransaction

__tracebackhide__ = True  # pytest ends the traceback of a failed test where it calls the kit

_PIECE = 1 << 20  # bytes of one Fetch
_TIMEOUT_MS = 30_000
_TRANSACTIONAL = 11  # at most: the last version of Kafka's older protocol, by topic name


async def produce(
    broker: RunningBroker,
    topic: TopicImage,
    records: Sequence[Record | Bytes],
    transaction: OpenTransaction | None = None,
) -> list[StoredRecord]:
    """Append records, one batch for each partition; return them as stored. Raises KafkaError.

    All are checked before the first is appended; a later batch may still fail on its own.
    """
    now_ms = int(broker.world.clock.wall() * 1000)
    by_partition: dict[int, list[tuple[int, batch.Record]]] = defaultdict(list)
    for number, value in enumerate(records):
        record = value if isinstance(value, Record) else Record(value=value)
        partition = _partition(topic, record, number)
        encoded = batch.Record(
            timestamp=now_ms if record.timestamp_ms is None else record.timestamp_ms,
            key=as_bytes(record.key),
            value=as_bytes(record.value),
            headers=list(record.headers),
        )
        by_partition[partition].append((number, encoded))
    if transaction is not None:
        await transaction.add(broker, topic.name, list(by_partition))
    data = []
    for partition, numbered in by_partition.items():
        at = TopicPartition(topic.name, partition)
        encoded_batch = _encode([record for _, record in numbered], at, transaction)
        data.append(PartitionProduceData(index=partition, records=memoryview(encoded_batch)))
    request = ProduceRequest(
        transactional_id=None if transaction is None else transaction.transactional_id,
        acks=-1,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic.name, topic_id=topic.id, partition_data=data)],
    )
    at_most = None if transaction is None else _TRANSACTIONAL
    stored: list[StoredRecord | None] = [None] * len(records)
    for answered in (await ask(broker, request, at_most=at_most)).responses:
        for done in answered.partition_responses:
            check(done.error_code, f"{topic.name}-{done.index}: {done.error_message}")
            for delta, (number, encoded) in enumerate(by_partition[done.index]):
                encoded.offset = done.base_offset + delta
                if done.log_append_time_ms >= 0:
                    encoded.timestamp = done.log_append_time_ms
                stored[number] = _stored(topic.name, done.index, encoded)
    return [record for record in stored if record is not None]


def _encode(
    records: list[batch.Record], at: TopicPartition, transaction: OpenTransaction | None
) -> bytes:
    if transaction is None:
        return batch.encode_batch(records)
    producer = transaction.next_fields(at, len(records))
    return batch.encode_batch(records, producer=producer, attributes=TRANSACTIONAL)


def _partition(topic: TopicImage, record: Record, number: int) -> int:
    count = len(topic.partitions)
    if record.partition is not None:
        if not 0 <= record.partition < count:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic.name}-{record.partition}: the topic has {count} partitions",
            )
        return record.partition
    key = as_bytes(record.key)
    return number % count if key is None else partition_of(key, count)


async def read_records(
    broker: RunningBroker,
    topic: TopicImage,
    partitions: Iterable[int],
    *,
    start: int | None,
    committed: bool = False,
) -> list[StoredRecord]:
    """Return the records below the high watermark, by partition and offset.

    start: first offset; None: the first of each partition.
    committed: as read_committed: below the last stable offset, without aborted transactions.
    Raises KafkaError.
    """
    records: list[StoredRecord] = []
    firsts = await first_offsets(broker, topic)
    for partition in sorted(partitions):
        position = firsts[partition] if start is None else start
        while True:
            answer = await _fetch(broker, topic, partition, position=position, committed=committed)
            if (
                answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
                and start is None
                and not position
            ):
                position = answer.log_start_offset
                continue
            check(answer.error_code, f"{topic.name}-{partition} at offset {position}")
            data = bytes(answer.records or b"")  # type: ignore[call-overload]
            decoded = _decode(topic.name, partition, data, aborted=_aborted(answer))
            records.extend(record for record in decoded if record.offset >= position)
            position = max(position, _end(data))
            if position >= answer.high_watermark or not data:
                break
    return records


async def _fetch(
    broker: RunningBroker, topic: TopicImage, partition: int, *, position: int, committed: bool
) -> PartitionData:
    fetched = FetchPartition(partition=partition, fetch_offset=position, partition_max_bytes=_PIECE)
    request = FetchRequest(
        max_bytes=_PIECE,
        isolation_level=int(committed),
        topics=[FetchTopic(topic=topic.name, topic_id=topic.id, partitions=[fetched])],
    )
    answer = await ask(broker, request)
    check(answer.error_code, "Fetch")
    data: PartitionData = answer.responses[0].partitions[0]
    return data


def _aborted(answer: PartitionData) -> list[tuple[int, int]]:
    """Return producer id and first offset of each aborted transaction."""
    return [(row.producer_id, row.first_offset) for row in answer.aborted_transactions or ()]


def _decode(
    topic: str, partition: int, data: bytes, *, aborted: list[tuple[int, int]]
) -> Iterator[StoredRecord]:
    for position, header in committed_batches(data, aborted):
        for record in batch.read_records(data, position, header):
            yield _stored(topic, partition, record)


def _end(data: bytes) -> int:
    """Return the offset behind the last batch, 0 without one."""
    return max((header.next_offset for _, header in batch.iterate_headers(data)), default=0)


def _stored(topic: str, partition: int, record: batch.Record) -> StoredRecord:
    return StoredRecord(
        topic=topic,
        partition=partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )
