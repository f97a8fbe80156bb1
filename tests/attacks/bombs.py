"""Compressed batches that grow: a few kilobytes that unpack to hundreds of megabytes."""

import struct
import time
from functools import lru_cache
from typing import Final

import cramjam
import zstandard

from trio_kafka.records.batch import Record, encode_batch
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import read_header
from trio_kafka.records.recompress import repacked
from trio_kafka.records.varint import encode_varint

MIB: Final = 1 << 20
LARGEST_WINDOW: Final = 27  # log2: the default bound of a zstd decoder
LATER_MS: Final = 1_800_000  # the record is of a later time than those of honest producers
_SNAPPY_HEAD: Final = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
_SMALLEST_HEADER: Final = 2  # bytes: an empty name, an empty value


@lru_cache
def bomb(codec: Codec, size: int, *, window: int | None = None, headers: bool = False) -> bytes:
    """One batch with one record, which has a key and unpacks to about `size` bytes of zeros.

    window: log2 of the window of the zstd frame. headers: the zeros are millions of headers, not
    one value.
    """
    begin = b"\0\0\0" + encode_varint(1) + b"k"
    zeros = size - len(begin) - 16
    if headers:
        zeros -= zeros % _SMALLEST_HEADER
        body, end = begin + encode_varint(-1) + encode_varint(zeros // _SMALLEST_HEADER), b""
    else:
        body, end = begin + encode_varint(zeros), b"\0"
    length = encode_varint(len(body) + zeros + len(end))
    block = _packed(codec, b"".join((length, body, bytes(zeros), end)), window)
    later_ms = int(time.time() * 1000) + LATER_MS
    batch = memoryview(encode_batch([Record(timestamp=later_ms)]))
    return bytes(repacked(batch, read_header(batch), codec, block)[0])


def _packed(codec: Codec, data: bytes, window: int | None) -> bytes:
    if codec is Codec.ZSTD:
        parameters = zstandard.ZstdCompressionParameters.from_level(
            3, window_log=window or 21, write_content_size=False
        )
        packer = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
        return packer.compress(data) + packer.flush()
    if codec is Codec.GZIP:
        return bytes(cramjam.gzip.compress(data, level=9))
    if codec is Codec.LZ4:
        return bytes(cramjam.lz4.compress(data, level=9))
    blocks = [
        bytes(cramjam.snappy.compress_raw(data[at : at + MIB])) for at in range(0, len(data), MIB)
    ]
    framed = [struct.pack(">i", len(block)) + block for block in blocks]
    return _SNAPPY_HEAD + b"".join(framed)
