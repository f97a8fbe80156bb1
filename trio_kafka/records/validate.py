"""Checks of the records field of a Produce request, by its header.

One pass over the bytes, for the CRC; records are not checked (see `record_checks`). Rules and
errors are those of Kafka's Produce from version 3 on, in which a partition's field holds exactly
one batch of magic 2. Bytes of a partial batch after it are ignored, as in Kafka: write
`header.size` bytes only.
"""

from typing import Final

from crc32c import crc32c

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import Codec
from trio_kafka.records.header import (
    CODEC_MASK,
    CONTROL,
    CRC_FROM,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME,
    NO_TIMESTAMP,
    SMALLEST_LENGTH,
    SMALLEST_RECORD,
    TRANSACTIONAL,
    BatchHeader,
    check_crc,
    corrupt,
)

MAX_LONG: Final = (1 << 63) - 1
ZSTD_SINCE: Final = 7  # version of Produce

_SMALLEST_LEGACY: Final = 14  # bytes after the length, magic 0
_LENGTH_AT: Final = 8
_MAGIC_AT: Final = 16
_ATTRIBUTES_AT: Final = 22  # low byte
_LAST_CODEC: Final = int(Codec.ZSTD)


class NoBatchError(KafkaError):
    """Raised for a records field that is not one batch which the request's version allows."""


@frozen(kw_only=True)
class Limits:
    """Limits from a topic's settings: max.message.bytes and bounds of create times, ms from now.

    max_record_bytes: of a record of a compressed batch.
    """

    max_message_bytes: int = 1_048_588
    max_record_bytes: int = 2_147_483_639
    log_append_time: bool = False
    before_max_ms: int = MAX_LONG
    after_max_ms: int = 3_600_000


DEFAULT_LIMITS: Final = Limits()


def check_produce(
    records: memoryview | None, limits: Limits = DEFAULT_LIMITS, *, now_ms: int, zstd: bool = True
) -> tuple[BatchHeader, bool]:
    """Check the one batch in `records`. Return its header, and whether its times are suspicious.

    Suspicious times may be an error of some records or of the header: `walk_records` finds out.
    now_ms: the wall clock. zstd: whether the request's version allows it (ZSTD_SINCE).
    Raises KafkaError: NoBatchError, INVALID_RECORD (wrong counts, a control batch, a missing
    sequence), CORRUPT_MESSAGE (sizes, CRC), MESSAGE_TOO_LARGE.
    """
    if records is None or len(records) < HEADER_SIZE:
        raise _explain_short(records)
    header = BatchHeader(*HEADER.unpack_from(records, 0))
    size = header.length + LENGTH_END
    if header.magic != 2 or size != len(records) or header.length < SMALLEST_LENGTH:
        _check_frame(records)
    if size > limits.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"batch of {size} bytes, want at most {limits.max_message_bytes}",
        )
    attributes = header.attributes
    if attributes and not zstd and attributes & CODEC_MASK == Codec.ZSTD:
        message = f"zstd needs Produce {ZSTD_SINCE} or newer"
        raise NoBatchError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, message)
    if crc32c(records[CRC_FROM:size]) != header.crc:
        check_crc(records, 0, header)  # raises with the reason
    if attributes and (attributes & CONTROL or attributes & CODEC_MASK > _LAST_CODEC):
        raise _explain_attributes(attributes)
    count = header.count
    if (
        header.base_offset
        or count <= 0
        or header.last_offset_delta + 1 != count
        or (count * SMALLEST_RECORD > size - HEADER_SIZE and not attributes & CODEC_MASK)
    ):
        raise _explain_counts(header)
    if header.producer_id >= 0:
        if header.base_sequence < 0:
            raise invalid(f"sequence {header.base_sequence} of producer {header.producer_id}")
    elif attributes & TRANSACTIONAL:
        raise invalid("a transactional batch without a producer id")
    if attributes & LOG_APPEND_TIME:
        return header, True
    if limits.log_append_time:
        return header, False
    base, largest = header.base_timestamp, header.max_timestamp
    # Nearly always one of them is not later than the other, and both are near.
    return header, (
        now_ms - base > limits.before_max_ms
        or largest - now_ms > limits.after_max_ms
        or largest < base
        or base < 0
    ) and not base == largest == NO_TIMESTAMP


def invalid(message: str) -> KafkaError:
    """Return the error for a record or batch that clients must not send again."""
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _explain_short(records: memoryview | None) -> KafkaError:
    """Return the error for a field that is too short for a batch of magic 2."""
    if records is None or (size := _batch_size(records, 0)) is None:
        return _no_batch("no whole batch, want exactly one")
    return _wrong_magic(records) or corrupt(f"batch of {size} bytes, want {HEADER_SIZE} or more")


def is_transactional(records: memoryview | None) -> bool:
    """Return whether records, which were not checked yet, begin with a transactional batch."""
    return (
        records is not None
        and len(records) > _ATTRIBUTES_AT
        and records[_MAGIC_AT] == 2
        and bool(records[_ATTRIBUTES_AT] & TRANSACTIONAL)
    )


def _check_frame(records: memoryview) -> None:
    """Raise for a field that is not one whole batch of magic 2, with or without a partial one
    after it.
    """
    size = _batch_size(records, 0)
    if size is None:
        raise _no_batch("no whole batch, want exactly one")
    if error := _wrong_magic(records):
        raise error
    if _batch_size(records, size) is not None:
        raise _no_batch("more than one batch, want exactly one")
    if size < HEADER_SIZE:
        raise corrupt(f"batch of {size} bytes, want {HEADER_SIZE} or more")


def _wrong_magic(records: memoryview) -> KafkaError | None:
    magic = records[_MAGIC_AT]
    return None if magic == 2 else _no_batch(f"magic {magic}, want 2")


def _no_batch(message: str) -> KafkaError:
    return NoBatchError(ErrorCode.INVALID_RECORD, message)


def _batch_size(records: memoryview, position: int) -> int | None:
    """Return the size of the batch of any magic at `position`; None: it is incomplete.

    Raises CORRUPT_MESSAGE for an invalid one.
    """
    available = len(records) - position
    if available < LENGTH_END:
        return None
    length = int.from_bytes(
        records[position + _LENGTH_AT : position + LENGTH_END], "big", signed=True
    )
    if length < _SMALLEST_LEGACY:
        raise corrupt(f"batch of {length + LENGTH_END} bytes")
    if available > _MAGIC_AT and records[position + _MAGIC_AT] > 2:
        raise corrupt(f"magic {records[position + _MAGIC_AT]}, want 2")
    return length + LENGTH_END if length + LENGTH_END <= available else None


def _explain_attributes(attributes: int) -> KafkaError:
    if attributes & CONTROL:
        return invalid("clients write no control batches")
    return invalid(f"codec {attributes & CODEC_MASK}, want 0 to 4")


def _explain_counts(header: BatchHeader) -> KafkaError:
    if header.base_offset:
        return invalid(f"base offset {header.base_offset}, want 0")
    return invalid(
        f"{header.count} records with a last offset delta of {header.last_offset_delta} "
        f"in {header.size - HEADER_SIZE} bytes"
    )
