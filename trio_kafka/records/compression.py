"""The four codecs of record batches, with bounds on what they may grow to.

A bomb raises before more memory is spent than the caller allows: output goes to buffers of known
size, which grow from a guess to the limit. Snappy has no frame of its own: most clients write a
stream with a head and blocks, librdkafka one raw block; both are read, the stream is written.
Source: Kafka's use of gzip, snappy, lz4 frames (KIP-57) and zstd (KIP-110); tested on batches of
Kafka's own builder.
"""

import struct
from collections.abc import Callable
from enum import IntEnum
from typing import Final

import cramjam

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.steps import Steps, whole
from trio_kafka.world.protocols import Buffer


class Codec(IntEnum):
    """As in bits 0 to 2 of a batch's attributes."""

    NONE = 0
    GZIP = 1
    SNAPPY = 2
    LZ4 = 3
    ZSTD = 4


LEVELS: Final = {
    Codec.GZIP: range(-1, 10),
    Codec.LZ4: range(1, 18),
    Codec.ZSTD: range(-131072, 23),
}
_DEFAULT_LEVELS: Final = {Codec.GZIP: -1, Codec.LZ4: 9, Codec.ZSTD: 3}

_SNAPPY_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_SNAPPY_MAGIC: Final = _SNAPPY_HEAD[:8]
_SNAPPY_BLOCK: Final = 32 << 10
_LZ4_STEP: Final = 64 << 10
_LENGTH: Final = struct.Struct(">i")
_FIRST_GUESS: Final = 64 << 10
_GROWTH: Final = 4
_FULL: Final = "failed to write whole buffer"  # how cramjam says that the output did not fit


def compress(codec: Codec, data: Buffer, level: int | None = None) -> bytes:
    """`data` as the records block of a batch. `level`: None is Kafka's default; snappy has none.

    Raises ValueError for a level outside of LEVELS.
    """
    if level is None:
        level = _DEFAULT_LEVELS.get(codec, 0)
    elif codec in LEVELS and level not in LEVELS[codec]:
        raise ValueError(f"level {level} of {codec.name}, want one of {LEVELS[codec]}")
    match codec:
        case Codec.NONE:
            return bytes(data)
        case Codec.GZIP:
            return bytes(cramjam.gzip.compress(data, level=6 if level < 0 else level))
        case Codec.SNAPPY:
            return _compress_snappy(memoryview(data))
        case Codec.LZ4:
            return whole(compress_lz4(data, level))
        case Codec.ZSTD:
            return bytes(cramjam.zstd.compress(data, level=level))


def compress_lz4(data: Buffer, level: int = _DEFAULT_LEVELS[Codec.LZ4]) -> Steps[bytes]:
    """As `compress`, in steps of 64 KiB (0.4 ms): it is the one codec that no thread can run beside
    others, as the library keeps the interpreter's lock.
    """
    # Independent blocks without a checksum over the content: Java's reader refuses linked ones.
    frame = cramjam.lz4.Compressor(level, content_checksum=False, block_linked=False)
    view = memoryview(data)
    for at in range(0, len(view), _LZ4_STEP):
        frame.compress(bytes(view[at : at + _LZ4_STEP]))  # the library takes no views
        yield
    return bytes(frame.finish())


def decompress(codec: Codec, data: Buffer, limit: int) -> bytes:
    """The records behind a block of at most `limit` bytes of output.

    Raises KafkaError(CORRUPT_MESSAGE) for what the codec cannot read and for more than `limit`
    bytes.
    """
    try:
        match codec:
            case Codec.NONE:
                _check_limit(len(data), limit)
                return bytes(data)
            case Codec.GZIP:
                return _decompress(cramjam.gzip.decompress_into, data, limit)
            case Codec.SNAPPY:
                return _decompress_snappy(memoryview(data), limit)
            case Codec.LZ4:
                return _decompress(cramjam.lz4.decompress_into, data, limit)
            case Codec.ZSTD:
                return _decompress(cramjam.zstd.decompress_into, data, limit)
    except cramjam.DecompressionError as error:
        raise _corrupt(f"{codec.name.lower()} block of {len(data)} bytes: {error}") from error


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)


def _check_limit(size: int, limit: int) -> None:
    if size > limit:
        raise _corrupt(f"block of {size} bytes when decompressed, want at most {limit}")


def _decompress(into: Callable[[Buffer, bytearray], int], data: Buffer, limit: int) -> bytes:
    """Into a buffer that fits, found by growing it: the failed tries cost a third of the last."""
    size = min(limit, max(_FIRST_GUESS, _GROWTH * len(data)))
    while True:
        output = bytearray(size)
        try:
            written = into(data, output)
        except cramjam.DecompressionError as error:
            if str(error) != _FULL:
                raise
            if size >= limit:
                raise _corrupt(
                    f"block of {len(data)} bytes grows over the limit of {limit} bytes"
                ) from error
            size = min(limit, _GROWTH * size)
        else:
            return bytes(memoryview(output)[:written])


def _compress_snappy(data: memoryview) -> bytes:
    parts = [_SNAPPY_HEAD]
    for at in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _SNAPPY_BLOCK]))
        parts += (_LENGTH.pack(len(block)), block)
    return b"".join(parts)


def _decompress_snappy(data: memoryview, limit: int) -> bytes:
    if data[:8] != _SNAPPY_MAGIC:
        return _decompress_raw_snappy(data, limit)
    parts = []
    size = 0
    at = len(_SNAPPY_HEAD)
    while at < len(data):
        if len(data) - at < _LENGTH.size:
            raise _corrupt(f"snappy stream ends inside of a length, at byte {at}")
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if not 0 <= length <= len(data) - at:
            raise _corrupt(f"snappy block of {length} bytes at byte {at} of {len(data)}")
        parts.append(_decompress_raw_snappy(data[at : at + length], limit - size))
        size += len(parts[-1])
        at += length
    return b"".join(parts)


def _decompress_raw_snappy(block: memoryview, limit: int) -> bytes:
    """A raw block says its size first: nothing is allocated for one that says too much."""
    if not block:
        raise _corrupt("snappy block of no bytes")
    size = cramjam.snappy.decompress_raw_len(block)
    _check_limit(size, limit)
    output = bytearray(size)
    written = cramjam.snappy.decompress_raw_into(block, output)
    if written != size:
        raise _corrupt(f"snappy block of {written} bytes, want {size}")
    return bytes(output)
