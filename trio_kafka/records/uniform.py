"""Batches as the broker writes them itself: records of one time, without headers, not compressed.

Coordinators make one for nearly every request, so bytes and header are made together: nobody has to
read what was written here. Byte for byte what `batch.encode_batch` makes of the same records.
"""

from collections.abc import Iterable
from struct import Struct
from typing import Final

from crc32c import crc32c

from trio_kafka.records.header import (
    LENGTH_END,
    NO_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    BatchHeader,
)
from trio_kafka.records.varint import encode_varint

_HEAD: Final = Struct(">qiibI")  # what stands before what the checksum covers, and the checksum
_COVERED: Final = Struct(">hiqqqhii")
_MAGIC: Final = 2
_PLAIN: Final = 0  # attributes: no codec, create time
_AROUND: Final = 3  # bytes of a record: attributes, time (that of the batch), number of headers
_NULL: Final = encode_varint(-1)
_SHORT: Final = 1024
_SIZES: Final = tuple(map(encode_varint, range(_SHORT)))  # of what is short, as nearly all is


def encode_uniform(
    records: Iterable[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    *,
    base_sequence: int = NO_SEQUENCE,
) -> tuple[memoryview, BatchHeader]:
    """One batch of keys and values, with offsets from 0 on, to be stamped by a leader: writable.

    A value of None is a tombstone. Raises ValueError where there is no record.
    """
    pieces = [b""]
    count = 0
    for key, value in records:
        size = len(key)
        begin = _SIZES[size] if size < _SHORT else encode_varint(size)
        delta = _SIZES[count] if count < _SHORT else encode_varint(count)
        size += len(begin) + len(delta) + _AROUND
        content = b""
        if value is None:
            middle = _NULL
        else:
            content, length = value, len(value)
            middle = _SIZES[length] if length < _SHORT else encode_varint(length)
            size += length
        size += len(middle)
        whole = _SIZES[size] if size < _SHORT else encode_varint(size)
        pieces += (whole, b"\0\0", delta, begin, key, middle, content, b"\0")
        count += 1
    if not count:
        raise ValueError("a batch without records")
    pieces[0] = _COVERED.pack(
        _PLAIN,
        count - 1,
        timestamp_ms,
        timestamp_ms,
        NO_PRODUCER_ID,
        NO_EPOCH,
        base_sequence,
        count,
    )
    covered = b"".join(pieces)
    crc = crc32c(covered)
    length = _HEAD.size - LENGTH_END + len(covered)
    batch = bytearray(_HEAD.pack(0, length, NO_EPOCH, _MAGIC, crc))
    batch += covered
    header = BatchHeader(
        0,
        length,
        NO_EPOCH,
        _MAGIC,
        crc,
        _PLAIN,
        count - 1,
        timestamp_ms,
        timestamp_ms,
        NO_PRODUCER_ID,
        NO_EPOCH,
        base_sequence,
        count,
    )
    return memoryview(batch), header
