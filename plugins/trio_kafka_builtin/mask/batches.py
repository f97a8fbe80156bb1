"""Masking of whole batches: decompressed, rewritten and compressed again.

A batch keeps its offsets, times, producer, sequences, codec and all its other attributes. Control
batches, and batches with nothing to mask, are returned as stored. Long work runs in a thread, or in
slices of a millisecond where it would hold the GIL anyway.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from trio_kafka.log.decompression import Decompression
from trio_kafka.records.compression import Codec, compress, compress_lz4
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, iterate_headers
from trio_kafka.records.recompress import repacked
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.world.world import World
from trio_kafka_builtin.mask.values import Change, with_values

T = TypeVar("T")
AT_ONCE: Final = 16 << 10  # bytes: at most 1 ms of any codec
UNPACKED: Final = 16 << 20  # bytes of records of a batch; larger ones are an error
_SLICE_S: Final = 0.001


async def masked_batches(
    data: bytes,
    change: Change,
    world: World,
    decompression: Decompression,
    *,
    most: int,
    at_least_one: bool,
) -> tuple[list[bytes], Exception | None]:
    """Return the whole batches of `data`, masked, up to `most` bytes; a partial one is dropped.

    at_least_one: return the first whatever its size. The error is that of the first batch that
    could not be masked, and the batches before it are returned: KafkaError(CORRUPT_MESSAGE), or
    what `change` raises.
    """
    given: list[bytes] = []
    size = 0
    view = memoryview(data)
    for position, header in iterate_headers(data):
        batch = view[position : position + header.size]
        if size and size + header.size // 2 > most:
            break  # masking rarely halves a batch: not worth the work
        try:
            made = await masked_batch(batch, header, change, world, decompression)
        except Exception as error:  # noqa: BLE001 - the caller judges the error of this batch
            return given, error
        if size + len(made) > most and not (at_least_one and not given):
            break
        given.append(made)
        size += len(made)
    return given, None


async def masked_batch(
    batch: memoryview,
    header: BatchHeader,
    change: Change,
    world: World,
    decompression: Decompression,
) -> bytes:
    """Mask one batch. Raises KafkaError(CORRUPT_MESSAGE), and what `change` raises."""
    if header.is_control or not header.count:
        return bytes(batch)
    records = batch[HEADER_SIZE:]
    if header.codec is Codec.NONE:
        return await _masked(batch, header, bytes(records), change, world)
    async with decompression.unpacked(header.codec, records, UNPACKED) as unpacked:
        plain = unpacked if type(unpacked) is bytes else bytes(unpacked)
        return await _masked(batch, header, plain, change, world)


async def _masked(
    batch: memoryview, header: BatchHeader, plain: bytes, change: Change, world: World
) -> bytes:
    codec = header.codec
    made = await _in_slices(with_values(plain, header.count, change), world.clock.elapsed)
    if made is plain:
        return bytes(batch)
    data = await _compress(codec, made, world)
    if len(data) <= AT_ONCE:
        return bytes(repacked(batch, header, codec, data)[0])
    packed, _ = await world.run_in_thread(repacked, batch, header, codec, data)
    return bytes(packed)


async def _compress(codec: Codec, data: bytes, world: World) -> bytes:
    if codec is Codec.NONE:
        return data
    if codec is Codec.LZ4:
        return await _in_slices(compress_lz4(data), world.clock.elapsed)
    if len(data) <= AT_ONCE:
        return compress(codec, data)
    return await world.run_in_thread(compress, codec, data)


async def _in_slices(steps: Steps[T], elapsed: Callable[[], float]) -> T:
    """Run steps and return their result; other tasks run after each millisecond."""
    while True:
        done = advance(steps, elapsed, elapsed() + _SLICE_S)
        if done is not None:
            return done.value
        await trio.lowlevel.checkpoint()
