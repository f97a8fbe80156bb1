"""Four codecs of record batches, with bounds of the decompressed size.

A decompression bomb raises before it takes more memory than allowed: output goes to buffers of
    known size, which grow from a guess to the limit. Snappy has no frame format of its own: most
    clients write a stream with a head and blocks, librdkafka one raw block. Both are read; the
    stream is written.
Source: Kafka's use of gzip, snappy, lz4 frames (KIP-57) and zstd (KIP-110); tested on batches of
Kafka's own builder.
"""

import struct
import sys
from collections.abc import Callable, Iterator
from enum import IntEnum
from functools import partial
from typing import Final, TypeAlias

import cramjam

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.scheduling.chunked_work import Steps, whole
from trio_kafka.world.protocols import Buffer


class TooLargeError(KafkaError):
    """Raised for a block that exceeds its limit. CORRUPT_MESSAGE, as for any invalid block."""


class Codec(IntEnum):
    """Codecs as in bits 0 to 2 of a batch's attributes."""

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
_LZ4_FAST: Final = 1
_LZ4_STEP: Final = 64 << 10
_LZ4_HEAD: Final = 7  # bytes before the blocks, without optional fields
_LZ4_DICTIONARY: Final = 1
_LZ4_CHECKSUM: Final = 1 << 2
_LZ4_CONTENT_SIZE: Final = 1 << 3
_LZ4_BLOCK_CHECKSUM: Final = 1 << 4
_LZ4_BLOCK_SIZE: Final = (1 << 31) - 1
_LENGTH: Final = struct.Struct(">i")
_FIRST_GUESS: Final = 64 << 10
_GROWTH: Final = 4
_HARD: Final = 7  # incompressible data grows by less than its size shifted by this
_LONGEST_FRAME: Final = 1 << 10  # bytes around the data in any format
Decompressor: TypeAlias = Callable[[Buffer, bytearray | memoryview], int]
_DECOMPRESSORS: Final[dict[Codec, Decompressor]] = {
    Codec.GZIP: cramjam.gzip.decompress_into,
    Codec.LZ4: cramjam.lz4.decompress_into,
    Codec.ZSTD: cramjam.zstd.decompress_into,
}
_FULL: Final = "failed to write whole buffer"  # how cramjam says that the output did not fit


def compress(
    codec: Codec, data: Buffer, level: int | None = None, *, most: int = sys.maxsize
) -> bytes:
    """Compress `data` as the records block of a batch. level: None is Kafka's default; snappy has
        none.

    most: bound of memory and time, about so many bytes of output.
    Raises ValueError for a level outside of LEVELS, KafkaError(MESSAGE_TOO_LARGE) for an output
    that is clearly larger than `most`.
    """
    if level is None:
        level = _DEFAULT_LEVELS.get(codec, 0)
    elif codec in LEVELS and level not in LEVELS[codec]:
        raise ValueError(f"level {level} of {codec.name}, want one of {LEVELS[codec]}")
    match codec:
        case Codec.NONE:
            if len(data) > most:
                raise _too_large(codec, most)
            return bytes(data)
        case Codec.SNAPPY:
            return _compress_snappy(memoryview(data), most)
        case Codec.LZ4:
            return whole(compress_lz4(data, level, most))
        case Codec.GZIP:
            # Level 1 of zlib, which Kafka uses, is level 2 of this library, whose 1 packs less.
            level = 6 if level < 0 else max(level, 2)
            into = partial(cramjam.gzip.compress_into, level=level)
        case Codec.ZSTD:
            into = partial(cramjam.zstd.compress_into, level=level)
    output = bytearray(min(most, len(data) + (len(data) >> _HARD) + _LONGEST_FRAME))
    written = _attempt(into, data, output)
    if isinstance(written, int):
        return bytes(memoryview(output)[:written])
    raise _too_large(codec, most)


def compress_lz4(data: Buffer, level: int | None = None, most: int = sys.maxsize) -> Steps[bytes]:
    """Compress in steps of 64 KiB (0.4 ms). Raises as `compress`.

    LZ4 alone needs steps, as its library keeps the interpreter's lock. Kafka's default level, 9, is
    the fast compressor. Other libraries use the 15 times slower search for level 9; here each other
    level is that search.
    Source: KIP-390 and Kafka's Lz4BlockOutputStream.
    """
    if level is None or level == _DEFAULT_LEVELS[Codec.LZ4]:
        level = _LZ4_FAST
    # Independent blocks without a checksum over the content: Java's reader refuses linked ones.
    frame = cramjam.lz4.Compressor(level, content_checksum=False, block_linked=False)
    view = memoryview(data)
    parts, size = [], 0
    for at in range(0, len(view), _LZ4_STEP):
        frame.compress(bytes(view[at : at + _LZ4_STEP]))  # the library takes no views
        parts.append(bytes(frame.flush()))
        size += len(parts[-1])
        if size > most:
            raise _too_large(Codec.LZ4, most)
        yield
    parts.append(bytes(frame.finish()))
    return b"".join(parts)


def _too_large(codec: Codec, most: int) -> KafkaError:
    message = f"records of more than {most} bytes when packed with {codec.name.lower()}"
    return KafkaError(ErrorCode.MESSAGE_TOO_LARGE, message)


def decompress(codec: Codec, data: Buffer, limit: int) -> bytes:
    """Decompress a block to at most `limit` bytes.

    The size of the output buffer is found by growing it: failed tries cost a third of the last.
        Raises KafkaError(CORRUPT_MESSAGE) for an invalid block, or one over `limit`. The error
        keeps no output alive.
    """
    if codec is Codec.NONE:
        _check_limit(len(data), limit)
        return bytes(data)
    if codec is Codec.SNAPPY:
        size = _snappy_size(memoryview(data))
        _check_limit(size, limit)
    else:
        size = min(limit, max(_FIRST_GUESS, _GROWTH * len(data)))
    while True:
        output = bytearray(size)
        written = _unpacked(codec, data, output)
        if isinstance(written, int):
            return bytes(memoryview(output)[:written])
        del output  # the error's traceback keeps this frame
        if written != _FULL or size >= limit:
            raise _unreadable(codec, data, written, limit=limit)
        size = min(limit, _GROWTH * size)


def decompress_into(codec: Codec, data: Buffer, output: memoryview) -> int:
    """Decompress a block into `output` and return the number of bytes written.

    Raises KafkaError(CORRUPT_MESSAGE) as `decompress`; the limit is the size of `output`.
    """
    limit = len(output)
    if codec is Codec.NONE:
        _check_limit(len(data), limit)
        output[: len(data)] = data
        return len(data)
    if codec is Codec.SNAPPY:
        _check_limit(_snappy_size(memoryview(data)), limit)
    written = _unpacked(codec, data, output)
    if isinstance(written, int):
        return written
    raise _unreadable(codec, data, written, limit=limit)


def _unpacked(codec: Codec, data: Buffer, output: bytearray | memoryview) -> int | str:
    """Return the bytes written, or why the block is invalid."""
    if codec is Codec.SNAPPY:
        return _decompress_snappy(memoryview(data), output)
    if codec is Codec.LZ4:
        data = _first_frame(memoryview(data))
    return _attempt(_DECOMPRESSORS[codec], data, output)


def _attempt(
    into: Decompressor,
    data: Buffer,
    output: bytearray | memoryview,
) -> int | str:
    """Return the bytes written, or the library's message, as its error would keep `output`
    alive.
    """
    try:
        return into(data, output)
    except (cramjam.CompressionError, cramjam.DecompressionError) as error:
        return str(error)


def _unreadable(codec: Codec, data: Buffer, message: str, *, limit: int) -> KafkaError:
    block = f"{codec.name.lower()} block of {len(data)} bytes"
    if message == _FULL:
        return TooLargeError(
            ErrorCode.CORRUPT_MESSAGE, f"{block} grows over the limit of {limit} bytes"
        )
    return _corrupt(f"{block}: {message}")


def _corrupt(message: str) -> KafkaError:
    return KafkaError(ErrorCode.CORRUPT_MESSAGE, message)


def _check_limit(size: int, limit: int) -> None:
    if size > limit:
        message = f"block of {size} bytes when decompressed, want at most {limit}"
        raise TooLargeError(ErrorCode.CORRUPT_MESSAGE, message)


def _first_frame(data: memoryview) -> memoryview:
    """Return the first LZ4 frame, which is all that Kafka's reader reads, or all of invalid `data`.

    Source: LZ4 frame format 1.6.
    """
    if len(data) < _LZ4_HEAD:
        return data
    flags = data[4]
    at = _LZ4_HEAD + 8 * bool(flags & _LZ4_CONTENT_SIZE) + 4 * bool(flags & _LZ4_DICTIONARY)
    check = 4 * bool(flags & _LZ4_BLOCK_CHECKSUM)
    while at + 4 <= len(data):
        size = int.from_bytes(data[at : at + 4], "little")
        at += 4
        if not size:
            return data[: at + 4 * bool(flags & _LZ4_CHECKSUM)]
        at += (size & _LZ4_BLOCK_SIZE) + check
    return data


def _compress_snappy(data: memoryview, most: int = sys.maxsize) -> bytes:
    parts, size = [_SNAPPY_HEAD], len(_SNAPPY_HEAD)
    for at in range(0, len(data), _SNAPPY_BLOCK):
        block = bytes(cramjam.snappy.compress_raw(data[at : at + _SNAPPY_BLOCK]))
        parts += (_LENGTH.pack(len(block)), block)
        size += _LENGTH.size + len(block)
        if size > most:
            raise _too_large(Codec.SNAPPY, most)
    return b"".join(parts)


def _snappy_blocks(data: memoryview) -> Iterator[memoryview]:
    """Yield the raw blocks of a stream, or the one block that librdkafka writes without a head."""
    if data[:8] != _SNAPPY_MAGIC:
        yield data
        return
    at = 0
    while at < len(data):
        if data[at : at + 8] == _SNAPPY_MAGIC:  # at the begin, and where Java has joined streams
            at += len(_SNAPPY_HEAD)
            continue
        if len(data) - at < _LENGTH.size:
            raise _corrupt(f"snappy stream ends inside of a length, at byte {at}")
        (length,) = _LENGTH.unpack_from(data, at)
        at += _LENGTH.size
        if not 0 <= length <= len(data) - at:
            raise _corrupt(f"snappy block of {length} bytes at byte {at} of {len(data)}")
        yield data[at : at + length]
        at += length


def _snappy_size(data: memoryview) -> int:
    """Sum the sizes that the blocks claim, so that nothing is allocated for an excessive sum.

    Raises KafkaError(CORRUPT_MESSAGE).
    """
    return sum(map(_claimed_size, _snappy_blocks(data)))


def _claimed_size(block: memoryview) -> int:
    if not block:
        raise _corrupt("snappy block of no bytes")
    try:
        return int(cramjam.snappy.decompress_raw_len(block))
    except cramjam.DecompressionError as error:
        raise _corrupt(f"snappy block of {len(block)} bytes: {error}") from None


def _decompress_snappy(data: memoryview, output: bytearray | memoryview) -> int | str:
    """Return the bytes written, or why a block is invalid. `output` has room for the claimed
    sizes.
    """
    at = 0
    output = memoryview(output)
    for block in _snappy_blocks(data):
        size = cramjam.snappy.decompress_raw_len(block)
        written = _attempt(cramjam.snappy.decompress_raw_into, block, output[at : at + size])
        if written != size:
            return f"{written} at byte {at} of the output, want {size} bytes"
        at += size
    return at
