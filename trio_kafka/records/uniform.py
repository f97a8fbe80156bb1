"""Batches as the broker writes them itself: records without headers, not compressed.

Coordinators make one for nearly every request, so bytes and header are made together: nobody has to
read what was written here. Byte for byte what `batch.encode_batch` makes of the same records.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import repeat
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
_BEFORE: Final = _HEAD.size - LENGTH_END  # bytes that the length counts and the checksum does not
_NULL: Final = encode_varint(-1)
_SHAPES: Final = 512  # of batches of one record, by the sizes of key and value, that are kept
_NUMBERS: Final = 4096  # sizes and offsets: the same ones all the time
_varint: Final = lru_cache(maxsize=_NUMBERS)(encode_varint)


@lru_cache(maxsize=_SHAPES)
def _shape(key: int, value: int) -> tuple[Callable[..., bytes], bytes, bytes]:
    """A batch of one record with a key and a value of these sizes: what packs all that its checksum
    covers, and what stands before the key and before the value.
    """
    middle = encode_varint(value)
    begin = b"\0\0\0" + encode_varint(key)  # attributes; time and offset are those of the batch
    begin = encode_varint(len(begin) + key + len(middle) + value + 1) + begin
    whole = Struct(f"{_COVERED.format}{len(begin)}s{key}s{len(middle)}s{value}sx")
    return whole.pack, begin, middle


def encode_uniform(
    records: Sequence[tuple[bytes, bytes | None]],
    timestamp_ms: int,
    *,
    base_sequence: int = NO_SEQUENCE,
    deltas: Sequence[int] | None = None,
) -> tuple[memoryview, BatchHeader]:
    """One batch of keys and values, with offsets from 0 on, to be stamped by a leader: writable.

    A value of None is a tombstone. deltas: ms from `timestamp_ms` to the time of each record, 0
    for the first; None: all are of one time. Raises ValueError where there is no record.
    """
    count, latest_ms = len(records), timestamp_ms
    if count == 1 and (value := records[0][1]) is not None:  # nearly always
        key = records[0][0]
        pack, begin, middle = _shape(len(key), len(value))
        covered = pack(
            _PLAIN,
            0,
            timestamp_ms,
            timestamp_ms,
            NO_PRODUCER_ID,
            NO_EPOCH,
            base_sequence,
            1,
            begin,
            key,
            middle,
            value,
        )
    else:
        if deltas is not None:
            latest_ms += max(deltas)
        fields = (timestamp_ms, latest_ms, NO_PRODUCER_ID, NO_EPOCH, base_sequence, count)
        pieces = _encode(records, deltas)
        covered = b"".join((_COVERED.pack(_PLAIN, count - 1, *fields), *pieces))
    crc, length = crc32c(covered), len(covered) + _BEFORE
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
        latest_ms,
        NO_PRODUCER_ID,
        NO_EPOCH,
        base_sequence,
        count,
    )
    return memoryview(batch), header


def _encode(
    records: Sequence[tuple[bytes, bytes | None]], deltas: Sequence[int] | None
) -> list[bytes]:
    """Sizes and records in turn."""
    if not records:
        raise ValueError("a batch without records")
    pieces: list[bytes] = []
    # Attributes and time.
    begins = repeat(b"\0\0") if deltas is None else (b"\0" + _varint(d) for d in deltas)
    for number, ((key, value), begin) in enumerate(zip(records, begins, strict=False)):
        head = (begin, _varint(number), _varint(len(key)), key)
        if value is None:
            record = b"".join((*head, _NULL, b"\0"))
        else:
            record = b"".join((*head, _varint(len(value)), value, b"\0"))
        pieces += (_varint(len(record)), record)
    return pieces
