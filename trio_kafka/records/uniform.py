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
    pieces: list[bytes] = []
    count = 0
    for key, value in records:
        size = len(key)
        written = _SIZES[size] if size < _SHORT else encode_varint(size)
        delta = _SIZES[count] if count < _SHORT else encode_varint(count)
        if value is None:
            record = b"".join((b"\0\0", delta, written, key, _NULL, b"\0"))
        else:
            size = len(value)
            after = _SIZES[size] if size < _SHORT else encode_varint(size)
            record = b"".join((b"\0\0", delta, written, key, after, value, b"\0"))
        size = len(record)
        pieces += (_SIZES[size] if size < _SHORT else encode_varint(size), record)
        count += 1
    if not count:
        raise ValueError("a batch without records")
    covered = b"".join(
        (
            _COVERED.pack(
                _PLAIN,
                count - 1,
                timestamp_ms,
                timestamp_ms,
                NO_PRODUCER_ID,
                NO_EPOCH,
                base_sequence,
                count,
            ),
            *pieces,
        )
    )
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
