"""Memory for decompressed batches: one bound for the whole broker.

The decompressed size of a batch is not known beforehand: 10 kB may be 300 MB. Each batch is first
    tried in a small buffer, large enough for batches of normal producers. A larger one waits for
    the one large buffer of the broker, so it delays only other large ones. Each use holds one token
    and waits for nothing else of the broker, so there is no deadlock. The memory of the large
    buffer is given back after each use.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

import trio

from trio_kafka.introspect.limiter import open_limiter
from trio_kafka.introspect.tree import Node
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.compression import Codec, TooLargeError, decompress, decompress_into
from trio_kafka.records.zstd_window import largest_window
from trio_kafka.world.memory import discard, new_buffer
from trio_kafka.world.protocols import Buffer
from trio_kafka.world.world import World

SMALL: Final = 8 << 20  # bytes of records
GLANCE: Final = 1 << 20  # bytes of records for `wait=False`: 1 ms
SMALL_AT_ONCE: Final = 2
LARGE_AT_ONCE: Final = 1
MOST: Final = DECOMPRESSED_LIMIT + (8 << 20)  # bytes of records and of the decoder's window


class Decompression:
    """Decompress batches, at most two small ones and one large one at a time."""

    def __init__(self, world: World, node: Node) -> None:
        self._world = world
        self._small = open_limiter(SMALL_AT_ONCE, node, "unpacking")
        self._large = open_limiter(LARGE_AT_ONCE, node, "unpacking-large")

    @asynccontextmanager
    async def unpacked(
        self, codec: Codec, data: Buffer, limit: int, *, wait: bool = True
    ) -> AsyncIterator[Buffer]:
        """Decompress a block of records, for the duration of the `async with`.

        Views of the records are zeros afterwards: copy what you keep. Up to SMALL bytes are
            `bytes`.
        limit: largest size of the records in bytes.
        wait: False for a request handler, which must not wait long. Records of more than GLANCE
            bytes are large then, and trio.WouldBlock is raised if another task waits for the large
            buffer.
        Raises KafkaError(CORRUPT_MESSAGE) as `decompress`.
        """
        if codec is Codec.NONE and SMALL < len(data) <= limit:
            yield memoryview(data)
            return
        async with self._small:
            plain = await self._world.run_in_thread(
                _small, codec, data, limit, SMALL if wait else GLANCE
            )
            if plain is not None:
                yield plain
                return
        if not wait and self._large.statistics().tasks_waiting:
            raise trio.WouldBlock
        async with self._large:
            buffer = new_buffer(limit)
            try:
                size = await self._world.run_in_thread(_large, codec, data, buffer)
                yield buffer[:size]
            finally:
                await self._world.run_in_thread(discard, buffer)


def is_large(records: Buffer) -> bool:
    """Return True for decompressed records that took the large buffer."""
    return len(records) > SMALL


def _small(codec: Codec, data: Buffer, limit: int, small: int) -> bytes | None:
    """Decompress into a small buffer. None: the large buffer is needed, or the block is invalid."""
    try:
        return decompress(codec, data, min(limit, small))
    except TooLargeError:
        if limit <= small:
            raise
        return None


def _large(codec: Codec, data: Buffer, buffer: memoryview) -> int:
    """Decompress into `buffer`. Return the number of bytes."""
    if codec is Codec.ZSTD:
        # A window of 128 MiB (levels 20 to 22) leaves less for the records.
        buffer = buffer[: MOST - largest_window(bytes(data))]
    return decompress_into(codec, data, buffer)
