"""Batches with other values: decompressed, rewritten and compressed again.

A batch keeps its offsets, times, producer, sequences, codec and all its other attributes. Control
batches, and batches whose values do not change, stay as they are. Long work runs in a thread, or in
slices of a millisecond where it would hold the GIL anyway.
"""

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol, TypeVar

import trio

from trio_kafka.records.compression import Codec, compress, compress_lz4
from trio_kafka.records.header import HEADER_SIZE, BatchHeader, iterate_headers
from trio_kafka.records.recompress import repacked
from trio_kafka.records.values import Change, with_values
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.world.protocols import Buffer
from trio_kafka.world.world import World

T = TypeVar("T")
UNPACKED: Final = 16 << 20  # bytes of records of a batch; larger ones are an error
_AT_ONCE: Final = 16 << 10  # bytes: at most 1 ms of any codec
_SLICE_S: Final = 0.001


class Decompressor(Protocol):
    """Memory for decompressed batches, as `log.decompression`."""

    def unpacked(
        self, codec: Codec, data: Buffer, limit: int
    ) -> AbstractAsyncContextManager[Buffer]:
        """Decompress a block of records, for the duration of the `async with`."""


async def changed_batches(
    data: Buffer, change: Change, world: World, *, decompression: Decompressor
) -> Buffer:
    """Return the whole batches of `data` with changed values; a last one cut short is left out.

    The same object if nothing changes and no batch is cut short. Raises as `changed_batch`.
    """
    view = memoryview(data)
    batches: list[memoryview] = []
    end, is_changed = 0, False
    for position, header in iterate_headers(data):
        end = position + header.size
        batch = view[position:end]
        changed = await changed_batch(
            batch, header, change, world=world, decompression=decompression
        )
        is_changed = is_changed or changed is not batch
        batches.append(changed)
    if not is_changed:
        await trio.lowlevel.checkpoint()
        return data if end == len(data) else view[:end]
    return memoryview(bytearray().join(batches))


async def changed_batch(
    batch: memoryview,
    header: BatchHeader,
    change: Change,
    *,
    world: World,
    decompression: Decompressor,
) -> memoryview:
    """Return a batch with the values that `change` returns; the same object if none changes.

    Raises KafkaError(CORRUPT_MESSAGE), also for more than UNPACKED bytes of records, and what
    `change` raises.
    """
    if header.is_control or not header.count:
        return batch
    records = batch[HEADER_SIZE:]
    if header.codec is Codec.NONE:
        return await _changed(batch, header, bytes(records), change=change, world=world)
    async with decompression.unpacked(header.codec, records, UNPACKED) as unpacked:
        plain = unpacked if type(unpacked) is bytes else bytes(unpacked)
        return await _changed(batch, header, plain, change=change, world=world)


async def _changed(
    batch: memoryview, header: BatchHeader, plain: bytes, *, change: Change, world: World
) -> memoryview:
    codec = header.codec
    changed = await _in_slices(with_values(plain, header.count, change), world.clock.elapsed)
    if changed is plain:
        return batch
    data = await _compress(codec, changed, world)
    if len(data) <= _AT_ONCE:
        return repacked(batch, header, codec, data)[0]
    packed, _ = await world.run_in_thread(repacked, batch, header, codec, data)
    return packed


async def _compress(codec: Codec, data: bytes, world: World) -> bytes:
    if codec is Codec.NONE:
        return data
    if codec is Codec.LZ4:
        return await _in_slices(compress_lz4(data), world.clock.elapsed)
    if len(data) <= _AT_ONCE:
        return compress(codec, data)
    return await world.run_in_thread(compress, codec, data)


async def _in_slices(steps: Steps[T], elapsed: Callable[[], float]) -> T:
    """Run steps and return their result; other tasks run after each millisecond."""
    while True:
        done = advance(steps, elapsed, elapsed() + _SLICE_S)
        if done is not None:
            return done.value
        await trio.lowlevel.checkpoint()
