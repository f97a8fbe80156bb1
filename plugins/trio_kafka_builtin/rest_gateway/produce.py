"""Produce the records of a body, one batch per partition."""

from collections.abc import Mapping
from typing import Final, TypeGuard

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.protocol.messages.k00_produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    TopicProduceData,
)
from trio_kafka.records.batch import BatchBody, Record, encode_batch
from trio_kafka.records.partitioner import partition_of
from trio_kafka_builtin.rest_gateway.client import Client, refused
from trio_kafka_builtin.rest_gateway.formats import check_format, encode, shown
from trio_kafka_builtin.rest_gateway.objects import check_object

MOST: Final = 2000  # most records of a request
_STEP: Final = 32  # records per step: about 0.3 ms
_BODY: Final = ("records", "format", "acks")
_RECORD: Final = ("key", "value", "partition", "timestamp", "headers")
_HEADER: Final = ("name", "value")
_HEADERS: Final = 'headers: want [{"name": text, "value": base64 or null}]'
_ACKS: Final = {"all": -1, -1: -1, 1: 1}


async def produce(client: Client, topic: str, body: object) -> list[dict[str, object]]:
    """Append records; return partition and offset of each, or its partition's error.

    Raises KafkaError for a malformed body; nothing is appended then.
    """
    fields = check_object(body, _BODY, "the body")
    documents = fields.get("records")
    if not isinstance(documents, list):
        raise _bad('want {"records": [...]}')
    if len(documents) > MOST:
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"more than {MOST} records")
    acks = fields.get("acks", "all")
    if isinstance(acks, bool) or not isinstance(acks, str | int) or acks not in _ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, 'acks: want "all" or 1')
    context = client.context
    topic_image = client.topic(topic)
    format_ = check_format(fields.get("format", "json"))
    now_ms = int(context.world.clock.wall() * 1000)
    count = len(topic_image.partitions)
    without_key = context.world.random.randrange(count)
    bodies: dict[int, BatchBody] = {}
    places: list[tuple[int, int]] = []
    for number, document in enumerate(documents):
        record = _record(document, format_=format_, now_ms=now_ms, where=f"records[{number}]")
        partition = _partition(document, key=record.key, count=count, without_key=without_key)
        batch = bodies.setdefault(partition, BatchBody())
        places.append((partition, batch.count))
        batch.add(record)
        if not (number + 1) % _STEP:
            await trio.lowlevel.checkpoint()
    data = []
    for partition, batch in bodies.items():
        data.append(PartitionProduceData(partition, memoryview(encode_batch(batch))))
        await trio.lowlevel.checkpoint()
    if not data:
        return []
    answer = await client.ask(
        ProduceRequest(
            acks=_ACKS[acks],
            timeout_ms=context.settings.timeout_ms,
            topic_data=[TopicProduceData(topic, topic_image.id, data)],
        )
    )
    rows = {
        row.index: row
        for topic_response in answer.responses
        for row in topic_response.partition_responses
    }
    return [_row(partition, index, rows[partition]) for partition, index in places]


def _row(partition: int, index: int, response: PartitionProduceResponse) -> dict[str, object]:
    row: dict[str, object] = {"partition": partition, "offset": None}
    if not response.error_code:
        row["offset"] = response.base_offset + index
    else:
        error = refused(response.error_code, response.error_message)
        row |= {"error_code": int(error.code), "error": error.code.name}
        row["message"] = error.message
    return row


def _record(document: object, *, format_: str, now_ms: int, where: str) -> Record:
    fields = check_object(document, _RECORD, where)
    timestamp = fields.get("timestamp", now_ms)
    if not _is_whole(timestamp) or not 0 <= timestamp < 1 << 62:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, f"timestamp {shown(timestamp)}: want ms")
    headers = fields.get("headers", [])
    if not isinstance(headers, list):
        raise _bad(_HEADERS)
    for header in headers:
        check_object(header, _HEADER, f"{where}: a header")
        if not _is_name(header.get("name")):
            raise _bad(_HEADERS)
    return Record(
        timestamp=timestamp,
        key=encode(format_, fields.get("key")),
        value=encode(format_, fields.get("value")),
        headers=[(header["name"], encode("binary", header.get("value"))) for header in headers],
    )


def _is_name(name: object) -> bool:
    return isinstance(name, str) and name.isprintable()


def _is_whole(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)


def _partition(
    document: Mapping[str, object], *, key: bytes | None, count: int, without_key: int
) -> int:
    partition = document.get("partition")
    if partition is not None:
        if not _is_whole(partition) or not 0 <= partition < count:
            reason = f"partition {shown(partition)}: there are {count}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, reason)
        return partition
    return without_key if key is None else partition_of(key, count)


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
