"""Scan of records without a copy: a value may be as large as its batch.

Kafka accepts header names that are not UTF-8, and any negative length for null. So does this scan.
"""

import sys
from collections.abc import Generator
from typing import Final, TypeAlias

from trio_kafka.records.header import LOG_APPEND_TIME, SMALLEST_RECORD, BatchHeader, corrupt
from trio_kafka.records.leaf import ScanState
from trio_kafka.records.varint import read_varint
from trio_kafka.world.protocols import Buffer

# Offset delta, timestamp, size (negative: null) and end of key and of value, number of headers.
# Headers follow the value, their number first.
ScannedRecord: TypeAlias = tuple[int, int, int, int, int, int, int]
_STEP_HEADERS: Final = 64


BEGIN: Final = ScanState()


def scan_records(
    data: Buffer,
    header: BatchHeader,
    longest: int = sys.maxsize,
    state: ScanState = BEGIN,
) -> Generator[ScannedRecord | None, None, None]:
    """Scan the records of decompressed `data`. None: a pause in a record of many headers.

    longest: bytes of a record after its length. state: where the scan goes on.
    Raises KafkaError(CORRUPT_MESSAGE) for records that end outside of `data`, a wrong count and
    offsets that do not ascend.
    """
    at, first, last_delta = state
    size = len(data)
    latest = header.max_timestamp if header.attributes & LOG_APPEND_TIME else None
    base = header.base_timestamp
    most = header.last_offset_delta
    try:
        if not 0 <= header.count * SMALLEST_RECORD <= size:
            raise ValueError(f"{header.count} records in {size} bytes")
        for _ in range(first, header.count):
            length, at = read_varint(data, at)
            end = at + length
            if length < SMALLEST_RECORD - 1 or end > size or length > longest:
                most = min(longest, size - at)
                raise ValueError(f"record of {length} bytes, want at most {most}")
            later, at = read_varint(data, at + 1)  # no bit of the attributes is in use
            delta, at = read_varint(data, at)
            key, key_end = _skip(data, at, end)
            value, value_end = _skip(data, key_end, end)
            count, at = read_varint(data, value_end)
            if count:
                if not 0 < count <= (end - at) // 2:
                    raise ValueError(f"{count} headers in {end - at} bytes")
                for number in range(1, count + 1):
                    name, at = _skip(data, at, end)
                    if name < 0:
                        raise ValueError("a header without a name")
                    _, at = _skip(data, at, end)
                    if not number % _STEP_HEADERS:
                        yield None
            if at != end:
                raise ValueError(f"a record ends {end - at} bytes before its length does")
            if not last_delta < delta <= most:
                raise ValueError(f"offset delta {delta} after {last_delta}, want at most {most}")
            last_delta = delta
            timestamp = base + later if latest is None else latest
            yield delta, timestamp, key, key_end, value, value_end, count
        if at != size:
            raise ValueError(f"{size - at} bytes after {header.count} records")
    except (IndexError, ValueError) as error:
        reason = "the records end early" if isinstance(error, IndexError) else str(error)
        raise corrupt(f"{reason}; byte {at} of the records") from error


def _skip(data: Buffer, at: int, end: int) -> tuple[int, int]:
    """Return the size of the bytes at `at`, negative for null, and the position after them."""
    length, at = read_varint(data, at)
    if length < 0:
        return length, at
    after = at + length
    if after > end:
        raise ValueError(f"{length} bytes in a record with {end - at} bytes left")
    return length, after
