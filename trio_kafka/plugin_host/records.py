"""Records for plugins: decoded from batches; the place of a stored record."""

from typing import Final, NamedTuple

import trio

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import Record, decode_records
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.file_range import FileRange
from trio_kafka.records.header import HEADER_SIZE, iterate_headers
from trio_kafka.world.protocols import Buffer, RangeCutError
from trio_kafka.world.world import World

UNPACKED: Final = 16 << 20  # bytes of decompressed records of one call; more are an error
_AT_ONCE: Final = 1 << 10  # bytes of a compressed block: at most 1 ms of any codec
_STEP: Final = 32  # records per step: about 0.3 ms


class RecordPosition(NamedTuple):
    """Place of a stored record. offset: -1 with acks=0."""

    partition: int
    offset: int


async def read_bytes(batches: Buffer | FileRange | None) -> Buffer:
    """Return the bytes of a records field; a range of a file is read, not released.

    Raises KafkaError(NOT_LEADER_OR_FOLLOWER) if the file was truncated meanwhile.
    """
    if batches is None:
        return b""
    if not isinstance(batches, FileRange):
        return batches
    try:
        return await batches.lease.read(batches.position, batches.remaining)
    except RangeCutError as error:
        reason = f"the log was truncated: {error}; fetch again"
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, reason) from None


async def decoded(batches: Buffer | FileRange | None, world: World) -> list[Record]:
    """Decode the records of whole batches, but for control records.

    A last batch that is cut short, as in a response to a Fetch, is left out.
    Raises KafkaError(CORRUPT_MESSAGE), also for more than UNPACKED bytes of records, and as
    `read_bytes`.
    """
    data = await read_bytes(batches)
    records: list[Record] = []
    budget = UNPACKED
    for position, header in iterate_headers(data):
        if header.is_control:
            continue
        block = memoryview(data)[position + HEADER_SIZE : position + header.size]
        if header.codec is Codec.NONE or len(block) <= _AT_ONCE:
            plain = decompress(header.codec, block, budget)
        else:
            plain = await world.run_in_thread(decompress, header.codec, block, budget)
        budget -= len(plain)
        for record in decode_records(plain, header, position):
            records.append(record)
            if not len(records) % _STEP:
                await trio.lowlevel.checkpoint()
    await trio.lowlevel.checkpoint()
    return records
