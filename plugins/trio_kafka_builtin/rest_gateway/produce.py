"""Records of a body into partitions: one batch for each, appended as those of clients are."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.plugin import Appended, PluginContext, Produced, append
from trio_kafka.records.batch import BatchBody, Record, encode_batch
from trio_kafka_builtin.rest_gateway.formats import check_format, encode
from trio_kafka_builtin.rest_gateway.plugin import GatewaySettings
from trio_kafka_builtin.rest_gateway.waiting import settled

MOST: Final = 2000  # records of a request
_STEP: Final = 32  # records: about 0.3 ms
_ACKS: Final = {"all": -1, -1: -1, 1: 1}
_MASK: Final = 0xFFFFFFFF
_M: Final = 0x5BD1E995


async def produce(
    context: PluginContext[GatewaySettings], topic: str, body: Any
) -> list[dict[str, Any]]:
    """Append; for each record its partition and offset, or the error of its partition.

    Raises KafkaError for a body that is no list of records; nothing was appended then.
    """
    if not isinstance(body, Mapping) or not isinstance(body.get("records"), list):
        raise _bad('want {"records": [...]}')
    if len(body["records"]) > MOST:
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, f"more than {MOST} records")
    acks = body.get("acks", "all")
    if isinstance(acks, bool) or not isinstance(acks, str | int) or acks not in _ACKS:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, 'acks: want "all" or 1')
    parts = context.parts
    known = parts.metadata.image.topics.get(topic)
    if known is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {topic}")
    format_ = check_format(body.get("format", "json"))
    now_ms = int(context.world.clock.wall() * 1000)
    count = len(known.partitions)
    without_key = context.world.random.randrange(count)
    bodies: dict[int, BatchBody] = {}
    places: list[tuple[int, int]] = []
    for number, one in enumerate(body["records"]):
        record = _record(one, format_, now_ms)
        partition = _partition(one, record.key, count, without_key)
        batch = bodies.setdefault(partition, BatchBody())
        places.append((partition, batch.count))
        batch.add(record)
        if not (number + 1) % _STEP:
            await trio.lowlevel.checkpoint()
    produced: dict[int, Produced] = {}
    for partition, batch in bodies.items():
        produced[partition] = _append(context, topic, partition, batch, _ACKS[acks])
        await trio.lowlevel.checkpoint()
    await settled(
        parts.replicas.acknowledge(
            list(produced.values()),
            _kept,
            context.settings.timeout_ms / 1000,
            acks=_ACKS[acks],
        )
    )
    return [_row(partition, index, produced[partition].result) for partition, index in places]


def _kept(parts: Sequence[Produced]) -> Sequence[Produced]:
    return parts


def _append(
    context: PluginContext[GatewaySettings], topic: str, number: int, batch: BatchBody, acks: int
) -> Produced:
    found = None
    try:
        found = context.parts.replicas.partition(topic, number)
        return Produced(found, append(found, memoryview(bytearray(encode_batch(batch))), acks=acks))
    except KafkaError as error:
        return Produced(found, error.as_value())


def _row(partition: int, index: int, result: Any) -> dict[str, Any]:
    row: dict[str, Any] = {"partition": partition, "offset": None}
    if isinstance(result, Appended):
        row["offset"] = result.first_offset + index
    else:
        row |= {"error_code": int(result.code), "error": result.code.name}
        row["message"] = result.message
    return row


def _record(one: Any, format_: str, now_ms: int) -> Record:
    if not isinstance(one, Mapping):
        raise _bad("a record is no object")
    timestamp = one.get("timestamp", now_ms)
    if not _is_whole(timestamp) or not 0 <= timestamp < 1 << 62:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, f"timestamp {timestamp!r}: want ms")
    headers = one.get("headers", [])
    if not isinstance(headers, list) or not all(_is_header(header) for header in headers):
        raise _bad('headers: want [{"name": text, "value": base64 or null}]')
    return Record(
        timestamp=timestamp,
        key=encode(format_, one.get("key")),
        value=encode(format_, one.get("value")),
        headers=[(header["name"], encode("binary", header.get("value"))) for header in headers],
    )


def _is_header(header: Any) -> bool:
    name = header.get("name") if isinstance(header, Mapping) else None
    return isinstance(name, str) and name.isprintable()


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _partition(one: Mapping[str, Any], key: bytes | None, count: int, without_key: int) -> int:
    wanted = one.get("partition")
    if wanted is not None:
        if not _is_whole(wanted) or not 0 <= wanted < count:
            found = f"partition {wanted!r}: there are {count}"
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, found)
        return int(wanted)
    return without_key if key is None else (murmur2(key) & 0x7FFFFFFF) % count


def murmur2(data: bytes) -> int:
    """The hash by which Kafka's Java producer chooses partitions, as 32 bits without a sign."""
    size = len(data)
    h = 0x9747B28C ^ size
    whole = size & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _MASK
        k = (k ^ k >> 24) * _M & _MASK
        h = (h * _M & _MASK) ^ k
    if size > whole:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _MASK
    h = (h ^ h >> 13) * _M & _MASK
    return h ^ h >> 15


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, message)
