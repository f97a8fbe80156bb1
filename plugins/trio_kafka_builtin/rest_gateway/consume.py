"""Records of a partition from an offset on, as JSON; waits for them for a while if there are none.

Sees what Kafka's consumers see with read_uncommitted. Control records are left out.
"""

from collections.abc import AsyncIterator
from typing import Any, Final

import trio
from attrs import frozen

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.queries import read_bytes
from trio_kafka.plugin import PluginContext
from trio_kafka.records.batch import decode_records
from trio_kafka.records.compression import decompress
from trio_kafka.records.header import HEADER_SIZE, iterate_headers
from trio_kafka_builtin.rest_gateway.formats import decode
from trio_kafka_builtin.rest_gateway.plugin import GatewaySettings
from trio_kafka_builtin.rest_gateway.waiting import Watch

_STEP: Final = 16
_UNPACKED: Final = 16 << 20  # bytes of a batch


@frozen(kw_only=True)
class Asked:
    """What a client wants to read."""

    topic: str
    partition: int
    offset: int
    max_bytes: int
    wait_s: float
    format: str


async def consume(context: PluginContext[GatewaySettings], asked: Asked) -> dict[str, Any]:
    """Records, and where to go on. Raises KafkaError."""
    replicas = context.parts.replicas
    partition = replicas.partition(asked.topic, asked.partition)
    deadline = trio.current_time() + asked.wait_s
    with Watch(replicas.fetch, partition) as watch, trio.CancelScope(deadline=deadline):
        while _is_at_end(partition.local_log(), asked.offset):
            await watch.wait()
    log = partition.local_log()
    end = log.high_watermark
    answer: dict[str, Any] = {"records": [], "next_offset": asked.offset}
    answer |= {"start_offset": log.start_offset, "high_watermark": end}
    if _is_at_end(log, asked.offset):
        return answer
    data = await read_bytes(log, asked.offset, asked.max_bytes, end)
    async for offset, row in _rows(data, asked, context):
        answer["next_offset"] = offset + 1
        if row is not None:
            answer["records"].append(row)
    return answer


def _is_at_end(log: Any, offset: int) -> bool:
    if not log.start_offset <= offset <= log.end_offset:
        wanted = f"offset {offset}: there are {log.start_offset} to {log.high_watermark}"
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, wanted)
    return bool(offset >= log.high_watermark)


async def _rows(
    data: bytes, asked: Asked, context: PluginContext[GatewaySettings]
) -> AsyncIterator[tuple[int, dict[str, Any] | None]]:
    """Offset and row of each record; of what is not shown, None."""
    done = 0
    for position, header in iterate_headers(data):
        if header.is_control:
            yield header.last_offset, None
            continue
        block = data[position + HEADER_SIZE : position + header.size]
        plain = await context.world.run_in_thread(decompress, header.codec, block, _UNPACKED)
        for record in decode_records(plain, header, position):
            done += 1
            if not done % _STEP:
                await trio.lowlevel.checkpoint()
            if record.offset >= asked.offset:
                headers = [
                    {"name": name, "value": decode("binary", value)}
                    for name, value in record.headers
                ]
                row = {
                    "offset": record.offset,
                    "timestamp": record.timestamp,
                    "key": decode(asked.format, record.key),
                    "value": decode(asked.format, record.value),
                    "headers": headers,
                }
                yield record.offset, row
        yield header.last_offset, None
