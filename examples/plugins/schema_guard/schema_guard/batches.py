"""Check one batch of a Produce, record by record, with a pause after each millisecond.

Every accepted batch was read to its last byte: a record that cannot be read cannot be checked.
"""

from collections.abc import Awaitable, Callable
from typing import Final

import trio
from attrs import field, frozen

from trio_kafka.plugin import ErrorCode, KafkaError
from trio_kafka.records.batch import BatchHeader, Record, decode_records
from trio_kafka.records.compression import Codec, decompress
from trio_kafka.records.header import HEADER_SIZE, check_crc, iterate_headers
from trio_kafka.world.world import World

# Of a value that is not there: a tombstone, which every schema lets pass. None: it fits.
Check = Callable[[bytes], Awaitable[str | None]]
SLICE_S: Final = 0.001
AT_ONCE: Final = 16 << 10  # bytes of a batch that are unpacked without a thread
MOST_ERRORS: Final = 1000  # records that an answer names; the batch is refused as a whole


@frozen(kw_only=True)
class Refusal:
    """Reason for rejecting a batch. records: index in the batch, and the reason for each."""

    code: ErrorCode
    message: str
    records: tuple[tuple[int, str], ...] = field(default=())


async def look_at(
    records: memoryview, check: Check, *, world: World, most_bytes: int
) -> Refusal | None:
    """Check each record of a batch. most_bytes: largest size after decompression."""
    try:
        return await _look_at(records, check, world=world, most_bytes=most_bytes)
    except KafkaError as error:
        return Refusal(code=error.code, message=error.message or error.code.name)


async def _look_at(
    records: memoryview, check: Check, *, world: World, most_bytes: int
) -> Refusal | None:
    headers = list(iterate_headers(records))
    if len(headers) != 1 or headers[0][1].size != len(records):
        raise KafkaError(ErrorCode.INVALID_RECORD, "want one whole batch")
    position, header = headers[0]
    check_crc(records, position, header)
    plain = await _unpacked(records, header, world=world, most_bytes=most_bytes)
    elapsed = world.clock.elapsed
    wrong: list[tuple[int, str]] = []
    count, ends = 0, elapsed() + SLICE_S
    try:
        for index, record in enumerate(decode_records(plain, header)):
            why = await _judge(record, check)
            if why is not None:
                count += 1
                if len(wrong) < MOST_ERRORS:
                    wrong.append((index, why))
            if elapsed() >= ends:
                await trio.lowlevel.checkpoint()
                ends = elapsed() + SLICE_S
    except KafkaError as error:  # not CORRUPT_MESSAGE: a client would send the same again
        if error.code is not ErrorCode.CORRUPT_MESSAGE:
            raise
        raise KafkaError(ErrorCode.INVALID_RECORD, error.message) from error
    if not wrong:
        return None
    index, why = wrong[0]
    message = f"{count} of {header.count} records do not fit; the first is {index}: {why}"
    return Refusal(code=ErrorCode.INVALID_RECORD, message=message, records=tuple(wrong))


async def _judge(record: Record, check: Check) -> str | None:
    return None if record.value is None else await check(record.value)


async def _unpacked(
    records: memoryview, header: BatchHeader, *, world: World, most_bytes: int
) -> bytes:
    data = bytes(records[HEADER_SIZE : header.size])  # a thread may outlive the request's frame
    try:
        if header.codec is Codec.NONE or header.size <= AT_ONCE:
            few = min(most_bytes, max(len(data), AT_ONCE))
            try:
                return decompress(header.codec, data, few)
            except KafkaError:
                if header.codec is Codec.NONE or few == most_bytes:
                    raise
        return await world.run_in_thread(decompress, header.codec, data, most_bytes)
    except KafkaError as error:
        raise KafkaError(ErrorCode.INVALID_RECORD, error.message) from error
