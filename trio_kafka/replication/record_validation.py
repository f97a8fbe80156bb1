"""Work that a topic may demand on the records of a batch: checks of each record, recompression.

Its cost grows with the batch. A small batch is processed at once. Any other takes its turn in the
partition's append queue: records are checked in slices, and decompressed and compressed in a
thread, as codecs release the interpreter's lock. LZ4 keeps the lock, so it compresses in slices.
Source: compression.type, cleanup.policy=compact; trio.record.validation.
"""

from collections.abc import Callable
from typing import Final, TypeVar

import trio

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import Decompression, is_large
from trio_kafka.records.compression import Codec, compress_lz4, compress_within
from trio_kafka.records.header import HEADER_SIZE, BatchHeader
from trio_kafka.records.recompress import recompress, repacked
from trio_kafka.records.record_checks import check_records, walk_records
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.scheduling.chunked_work import Steps, advance
from trio_kafka.world.protocols import Buffer
from trio_kafka.world.world import World

T = TypeVar("T")
Refined = tuple[memoryview, BatchHeader]
AT_ONCE: Final = 16 << 10  # bytes of decompressed records: at most 2 ms with any codec
_FEW: Final = 256  # records
_SLICE_S: Final = 0.001
_LARGE_ZSTD_LEVEL: Final = 9  # 16 MiB for the encoder; level 22 needs 800 MiB for a large batch


@frozen
class RecordValidation:
    """Work on one batch, with the settings and the time of its arrival."""

    settings: PartitionSettings
    now_ms: int

    def at_once(self, batch: memoryview, header: BatchHeader) -> Refined | None:
        """Return the batch to be stored; None: it is too large, or maybe invalid, so queue it."""
        if header.size > AT_ONCE or header.count > _FEW:
            return None
        try:
            return self.whole(batch, header, min(AT_ONCE, self.settings.decompressed_limit))
        except KafkaError:
            return None

    def whole(self, batch: memoryview, header: BatchHeader, limit: int) -> Refined:
        """Return the batch to be stored, however long it takes. limit: bytes of its records.

        Raises KafkaError as `check_records`; INVALID_RECORD for records that cannot be
        decompressed.
        """
        settings = self.settings
        if self._walks:
            check_records(
                batch,
                header,
                settings.limits,
                now_ms=self.now_ms,
                need_keys=settings.need_keys,
                decompressed_limit=limit,
            )
        codec = settings.codec
        if codec is None or codec == header.codec:
            return batch, header
        try:
            return recompress(batch, header, codec, settings.level, limit=limit)
        except KafkaError as error:
            raise _invalid(error) from error

    async def in_turn(
        self, world: World, decompression: Decompression, batch: memoryview, header: BatchHeader
    ) -> Refined:
        """Process the batch as `whole` does, while other tasks run."""
        settings = self.settings
        codec = settings.codec
        records = batch[HEADER_SIZE : header.size]
        try:
            async with decompression.unpacked(
                header.codec, records, settings.decompressed_limit
            ) as plain:
                if self._walks:
                    walk = walk_records(
                        plain,
                        header,
                        settings.limits,
                        now_ms=self.now_ms,
                        need_keys=settings.need_keys,
                    )
                    await _in_slices(walk, world.clock.elapsed)
                if codec is None or codec == header.codec:
                    return batch, header
                data = await self._packed(world, codec, plain)
        except KafkaError as error:
            raise _invalid(error) from error
        return await world.run_in_thread(repacked, batch, header, codec, data)

    async def _packed(self, world: World, codec: Codec, plain: Buffer) -> bytes:
        """Compress the records with another codec.

        Raises KafkaError(MESSAGE_TOO_LARGE), maybe early: a batch that grew may not shrink again.
        """
        level, most = self.settings.level, self.settings.limits.max_message_bytes
        if codec is Codec.LZ4:
            steps = compress_lz4(plain, **({} if level is None else {"level": level}), most=most)
            return await _in_slices(steps, world.clock.elapsed)
        if codec is Codec.ZSTD and is_large(plain) and level is not None:
            level = min(level, _LARGE_ZSTD_LEVEL)
        return await world.run_in_thread(compress_within, codec, plain, level, most)

    @property
    def _walks(self) -> bool:
        return self.settings.walk or self.settings.need_keys


def validation_of(
    settings: PartitionSettings, header: BatchHeader, now_ms: int
) -> RecordValidation | None:
    """Return the work on a batch; None: there is none."""
    codec = settings.codec
    if settings.walk or settings.need_keys or (codec is not None and codec != header.codec):
        return RecordValidation(settings, now_ms)
    return None


async def _in_slices(steps: Steps[T], elapsed: Callable[[], float]) -> T:
    """Return the result of the steps; other tasks run after each millisecond."""
    done = None
    while done is None:
        await trio.lowlevel.checkpoint()
        done = advance(steps, elapsed, elapsed() + _SLICE_S)
    return done.value


def _invalid(error: KafkaError) -> KafkaError:
    """Replace CORRUPT_MESSAGE, after which a client would send the same batch again."""
    if error.code is ErrorCode.CORRUPT_MESSAGE:
        return KafkaError(ErrorCode.INVALID_RECORD, error.message)
    return error
