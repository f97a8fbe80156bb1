"""Work that a topic may demand on the records of a batch: checks of each record, recompression.

Records that are to be compressed anew are checked, too.

Its cost grows with the batch. A small batch is processed at once, and with the compiled leaf nearly
any that is to be checked only. Any other takes its turn in the
partition's append queue: records are checked in slices, and decompressed and compressed in a
thread, as codecs release the interpreter's lock. LZ4 keeps the lock, so it compresses in slices.
Source: compression.type, cleanup.policy=compact, max.decompressed.message.bytes;
trio.record.validation.
"""

from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Final

import trio
from attrs import evolve

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.decompression import Decompression, is_large
from trio_kafka.records.batch import DECOMPRESSED_LIMIT
from trio_kafka.records.compression import Codec, compress, compress_lz4, decompress
from trio_kafka.records.header import (
    CODEC_MASK,
    HEADER_SIZE,
    LOG_APPEND_TIME,
    TRANSACTIONAL,
    BatchHeader,
    stamp_create_time,
)
from trio_kafka.records.leaf import leaf
from trio_kafka.records.recompress import repacked
from trio_kafka.records.record_checks import is_sound, walk_records
from trio_kafka.replication.settings import PartitionSettings
from trio_kafka.world.protocols import Buffer
from trio_kafka.world.world import World

Refined = tuple[memoryview, BatchHeader]
_Refining = Generator[Callable[[], object] | None, Any, Refined]
AT_ONCE: Final = 16 << 10  # bytes of decompressed records: at most 2 ms with any codec
_PACKED_AT_ONCE: Final = 64 << 10  # bytes that are decompressed for the compiled leaf
_PLAIN_AT_ONCE: Final = 512 << 10  # decompressed: 0.5 ms with its check
_FEW: Final = 256  # records that Python checks
_SLICE_S: Final = 0.001
_LARGE_ZSTD_LEVEL: Final = 9  # 16 MiB for the encoder; level 22 needs 800 MiB for a large batch


@frozen
class RecordValidation:
    """Work on one batch, with the settings and the time of its arrival."""

    settings: PartitionSettings
    now_ms: int

    def at_once(self, batch: memoryview, header: BatchHeader) -> Refined | None:
        """Return the batch to be stored; None: it is too large, or maybe invalid, so queue it."""
        if header.size > AT_ONCE or (header.count > _FEW and leaf() is None):
            return None
        try:
            return self.whole(batch, header, AT_ONCE)
        except KafkaError:
            return None

    def whole(self, batch: memoryview, header: BatchHeader, limit: int) -> Refined:
        """Return the batch to be stored, however long it takes. limit: bytes of its records.

        Raises KafkaError as `walk_records`; INVALID_RECORD for records that cannot be
        decompressed; MESSAGE_TOO_LARGE, maybe early: a batch that grew may not shrink again.
        """
        with _unreadable_is_invalid():
            plain = decompress(header.codec, batch[HEADER_SIZE : header.size], limit)
            steps = self._refining(plain, batch, header)
            result = None
            try:
                while True:
                    call = steps.send(result)
                    result = None if call is None else call()
            except StopIteration as end:
                refined: Refined = end.value
        return refined

    async def in_turn(
        self, world: World, decompression: Decompression, batch: memoryview, header: BatchHeader
    ) -> Refined:
        """Process the batch as `whole` does. Other tasks run after each millisecond."""
        elapsed, ends = world.clock.elapsed, 0.0
        records = batch[HEADER_SIZE : header.size]
        with _unreadable_is_invalid():
            async with decompression.unpacked(header.codec, records, DECOMPRESSED_LIMIT) as plain:
                steps = self._refining(plain, batch, header)
                result = None
                try:
                    while True:
                        call = steps.send(result)
                        result = None if call is None else await world.run_in_thread(call)
                        if elapsed() >= ends:
                            await trio.lowlevel.checkpoint()
                            ends = elapsed() + _SLICE_S
                except StopIteration as end:
                    refined: Refined = end.value
        return refined

    def _refining(self, plain: Buffer, batch: memoryview, header: BatchHeader) -> _Refining:
        """Check and recompress decompressed records, in steps. The header's times are mended.

        A step that takes long is a call: the caller sends its result.
        """
        settings, codec = self.settings, self.settings.codec
        limits = settings.limits
        latest = yield from walk_records(
            plain, header, limits, now_ms=self.now_ms, need_keys=settings.need_keys
        )
        if codec is None or codec == header.codec:
            if not limits.log_append_time and (
                latest != header.max_timestamp or header.attributes & LOG_APPEND_TIME
            ):
                yield partial(stamp_create_time, batch, 0, header, latest=latest)
            return batch, header
        level, most = settings.level, settings.limits.max_message_bytes
        if codec is Codec.LZ4:
            data = yield from compress_lz4(plain, level, most)
        else:
            if codec is Codec.ZSTD and is_large(plain) and level is not None:
                level = min(level, _LARGE_ZSTD_LEVEL)
            data = yield partial(compress, codec, plain, level, most=most)
        # Other attributes go, as in Kafka; an append time is stamped later.
        header = evolve(header, attributes=header.attributes & TRANSACTIONAL, max_timestamp=latest)
        refined: Refined = yield partial(repacked, batch, header, codec, data)
        return refined


def validation_of(
    settings: PartitionSettings,
    batch: memoryview,
    header: BatchHeader,
    now_ms: int,
    *,
    suspicious: bool = False,
) -> RecordValidation | None:
    """Return the work on a batch; None: there is none, or the compiled leaf has just done it.

    suspicious: check its records in any case, as its header has suspicious times.
    """
    codec, need_keys = settings.codec, settings.need_keys
    is_repacked = codec is not None and codec != header.codec
    if not (is_repacked or suspicious or need_keys or settings.walk):
        return None
    if (
        not is_repacked
        and (plain := _plain_at_once(batch, header)) is not None
        and is_sound(plain, header, settings.limits, now_ms=now_ms, need_keys=need_keys)
    ):
        return None
    return RecordValidation(settings, now_ms)


def _plain_at_once(batch: memoryview, header: BatchHeader) -> Buffer | None:
    """Return the records for the compiled leaf; None: it is not there, or they take too long."""
    if leaf() is None:
        return None
    if not header.attributes & CODEC_MASK:
        return batch[HEADER_SIZE:]
    if header.size > _PACKED_AT_ONCE:
        return None
    try:
        return decompress(header.codec, batch[HEADER_SIZE:], _PLAIN_AT_ONCE)
    except KafkaError:
        return None


@contextmanager
def _unreadable_is_invalid() -> Iterator[None]:
    """Replace CORRUPT_MESSAGE, after which a client would send the same batch again."""
    try:
        yield
    except KafkaError as error:
        if error.code is ErrorCode.CORRUPT_MESSAGE:
            raise KafkaError(ErrorCode.INVALID_RECORD, error.message) from error
        raise
