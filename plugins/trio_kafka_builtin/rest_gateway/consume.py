"""Read records of a partition from an offset on, as JSON; long-polls if there are none.

Reads like a consumer with read_uncommitted. Control records are omitted.
"""

from collections.abc import AsyncIterator
from typing import Final, cast

import trio
from attrs import frozen

from trio_kafka.errors import KafkaError
from trio_kafka.log.read import whole_batches
from trio_kafka.plugin import PluginContext
from trio_kafka.protocol.messages.k01_fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    PartitionData,
)
from trio_kafka.records.batch import Record, decode_in_steps
from trio_kafka.records.compression import decompress
from trio_kafka.records.header import HEADER_SIZE, iterate_headers
from trio_kafka_builtin.rest_gateway.answer_memory import AnswerShare
from trio_kafka_builtin.rest_gateway.client import Client, refused
from trio_kafka_builtin.rest_gateway.formats import decode, decode_field
from trio_kafka_builtin.rest_gateway.settings import GatewaySettings

_STEP: Final = 16
_UNPACKED: Final = 16 << 20  # most bytes of a batch; a response has about as many
_MOST_HEADERS: Final = 1000  # of a record: 1 ms
_MOST_ROWS: Final = (
    50_000  # most records of a response: each takes 1 kB here, and may be 7 bytes in its batch
)


@frozen(kw_only=True)
class ReadRequest:
    """Parameters of a read."""

    topic: str
    partition: int
    offset: int
    max_bytes: int
    wait_s: float
    format: str


async def consume(
    client: Client, read: ReadRequest, *, share: AnswerShare, decoding: trio.CapacityLimiter
) -> dict[str, object]:
    """Return records and the next offset. Raises KafkaError.

    share: of the memory of answers. decoding: limits the answers that are decoded at a time.
    """
    context = client.context
    topic = client.topic(read.topic)
    partition = FetchPartition(
        partition=read.partition, fetch_offset=read.offset, partition_max_bytes=read.max_bytes
    )
    fetched = await client.ask(
        FetchRequest(
            max_wait_ms=round(read.wait_s * 1000),
            min_bytes=1,
            max_bytes=read.max_bytes,
            topics=[FetchTopic(read.topic, topic.id, [partition])],
        )
    )
    if fetched.error_code:
        raise refused(fetched.error_code, None)
    for topic_response in fetched.responses:
        for data in topic_response.partitions:
            async with decoding:
                return await _answer(data, read, context, share)
    # Throttled: nothing was read, and the wait is over.
    return {"records": [], "next_offset": read.offset}


async def _answer(
    data: PartitionData,
    read: ReadRequest,
    context: PluginContext[GatewaySettings],
    share: AnswerShare,
) -> dict[str, object]:
    if data.error_code:
        error = refused(data.error_code, None)
        raise KafkaError(error.code, f"{read.topic}-{read.partition} from {read.offset} on")
    records: list[dict[str, object]] = []
    next_offset = read.offset
    stored = whole_batches(cast("memoryview", data.records or memoryview(b"")))
    async for offset, row in _rows(stored, read, context, share):
        next_offset = max(next_offset, offset + 1)
        if row is not None:
            records.append(row)
    return {
        "records": records,
        "next_offset": next_offset,
        "start_offset": data.log_start_offset,
        "high_watermark": data.high_watermark,
    }


async def _rows(
    data: bytes,
    read: ReadRequest,
    context: PluginContext[GatewaySettings],
    share: AnswerShare,
) -> AsyncIterator[tuple[int, dict[str, object] | None]]:
    """Yield offset and row of each record; None for a hidden one.

    Ends early if decoded records exceed the limit of a response; the client continues there.
    """
    done = shown = unpacked = 0
    for position, header in iterate_headers(data):
        if unpacked > _UNPACKED:
            return
        if header.is_control:
            yield header.last_offset, None
            continue
        block = data[position + HEADER_SIZE : position + header.size]
        plain = await context.world.run_in_thread(decompress, header.codec, block, _UNPACKED)
        unpacked += len(plain)
        for decoded in decode_in_steps(plain, header, position, most_headers=_MOST_HEADERS):
            done += 1
            if decoded is None or not done % _STEP:
                await trio.lowlevel.checkpoint()
            if decoded is not None and decoded[0].offset >= read.offset:
                record, count = decoded
                if not share.take(record, read.format):
                    return
                yield record.offset, _row(record, count, read.format)
                shown += 1
                if shown == _MOST_ROWS:
                    return
        yield header.last_offset, None


def _row(record: Record, headers: int, format_: str) -> dict[str, object]:
    """Return the row of a record. headers: how many it has."""
    row: dict[str, object] = {
        "offset": record.offset,
        "timestamp": record.timestamp,
        **decode_field("key", format_, record.key),
        **decode_field("value", format_, record.value),
        "headers": [
            {"name": name, "value": decode("binary", value)} for name, value in record.headers
        ],
    }
    if headers > _MOST_HEADERS:
        row["headers_error"] = f"{headers} headers, at most {_MOST_HEADERS} are shown"
    return row
