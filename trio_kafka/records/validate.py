"""Checks of the records field of a Produce request, by its header.

One pass over the bytes, for the CRC; records are not checked (see `record_checks`). Rules and
errors are those of Kafka's Produce from version 3 on, in which a partition's field holds exactly
one batch of magic 2. Bytes of a partial batch after it are ignored, as in Kafka: write
`header.size` bytes only.
Stricter than Kafka: unknown codecs, a delete horizon, the log-append-time bit, a transaction or an
    epoch without its producer are INVALID_RECORD or INVALID_TIMESTAMP.
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
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    LENGTH_END,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    NO_TIMESTAMP,
    SMALLEST_LENGTH,
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
_LAST_CODEC: Final = int(Codec.ZSTD)
_FORBIDDEN: Final = CONTROL | DELETE_HORIZON | LOG_APPEND_TIME


@frozen(kw_only=True)
class Limits:
    """Limits from a topic's settings: max.message.bytes and bounds of create times, ms from now."""

    max_message_bytes: int = 1_048_588
    log_append_time: bool = False
    before_max_ms: int = MAX_LONG
    after_max_ms: int = 3_600_000


DEFAULT_LIMITS: Final = Limits()


def check_produce(
    records: memoryview | None, limits: Limits = DEFAULT_LIMITS, *, now_ms: int, zstd: bool = True
) -> list[BatchHeader]:
    """Check the one batch in `records`. Return its header.

    now_ms: the wall clock. zstd: whether the request's version allows it (ZSTD_SINCE).
    Raises KafkaError: INVALID_RECORD (no batch, more than one, old magic, wrong counts, a control
    batch, a missing sequence), CORRUPT_MESSAGE (sizes, CRC), MESSAGE_TOO_LARGE,
    UNSUPPORTED_COMPRESSION_TYPE, INVALID_TIMESTAMP.
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
        raise KafkaError(
            ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"zstd needs Produce {ZSTD_SINCE} or newer"
        )
    if crc32c(records[CRC_FROM:size]) != header.crc:
        check_crc(records, 0, header)  # raises with the reason
    if attributes and (attributes & _FORBIDDEN or attributes & CODEC_MASK > _LAST_CODEC):
        raise _explain_attributes(attributes)
    if header.base_offset or header.count <= 0 or header.last_offset_delta + 1 != header.count:
        raise _explain_counts(header)
    if header.producer_id != NO_PRODUCER_ID:
        if header.producer_id < 0 or header.base_sequence < 0 or header.producer_epoch < 0:
            raise invalid(
                f"producer {header.producer_id} with epoch {header.producer_epoch} and sequence "
                f"{header.base_sequence}"
            )
    elif attributes & TRANSACTIONAL:
        raise invalid("a transactional batch without a producer id")
    if not limits.log_append_time:
        base, largest = header.base_timestamp, header.max_timestamp
        # Nearly always one of them is not later than the other, and both are near.
        if (
            base < 0
            or now_ms - base > limits.before_max_ms
            or largest - now_ms > limits.after_max_ms
            or largest < base
        ):
            check_time(largest, limits, now_ms)
            check_time(base, limits, now_ms)
    return [header]


def check_time(timestamp: int, limits: Limits, now_ms: int) -> None:
    """Raise KafkaError(INVALID_TIMESTAMP) for a create time too far from now. -1 (none) is
    allowed.
    """
    age = now_ms - timestamp
    if timestamp != NO_TIMESTAMP and (age > limits.before_max_ms or -age > limits.after_max_ms):
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"timestamp {timestamp} out of [{now_ms - limits.before_max_ms}, "
            f"{now_ms + limits.after_max_ms}]",
        )


def invalid(message: str) -> KafkaError:
    """Return the error for a record or batch that clients must not send again."""
    return KafkaError(ErrorCode.INVALID_RECORD, message)


def _explain_short(records: memoryview | None) -> KafkaError:
    """Return the error for a field that is too short for a batch of magic 2."""
    if records is None or (size := _batch_size(records, 0)) is None:
        return invalid("no whole batch, want exactly one")
    return _wrong_magic(records) or corrupt(f"batch of {size} bytes, want {HEADER_SIZE} or more")


def _check_frame(records: memoryview) -> None:
    """Raise for a field that is not one whole batch of magic 2, with or without a partial one
    after it.
    """
    size = _batch_size(records, 0)
    if size is None:
        raise invalid("no whole batch, want exactly one")
    if error := _wrong_magic(records):
        raise error
    if _batch_size(records, size) is not None:
        raise invalid("more than one batch, want exactly one")
    if size < HEADER_SIZE:
        raise corrupt(f"batch of {size} bytes, want {HEADER_SIZE} or more")


def _wrong_magic(records: memoryview) -> KafkaError | None:
    magic = records[_MAGIC_AT]
    return None if magic == 2 else invalid(f"magic {magic}, want 2")


def _batch_size(records: memoryview, position: int) -> int | None:
    """Return the size of the batch of any magic at `position`; None: it is incomplete.

    Raises CORRUPT_MESSAGE for an invalid one.
    """
    left = len(records) - position
    if left < LENGTH_END:
        return None
    length = int.from_bytes(
        records[position + _LENGTH_AT : position + LENGTH_END], "big", signed=True
    )
    if length < _SMALLEST_LEGACY:
        raise corrupt(f"batch of {length + LENGTH_END} bytes")
    if left > _MAGIC_AT and records[position + _MAGIC_AT] > 2:
        raise corrupt(f"magic {records[position + _MAGIC_AT]}, want 2")
    return length + LENGTH_END if length + LENGTH_END <= left else None


def _explain_attributes(attributes: int) -> KafkaError:
    if attributes & CONTROL:
        return invalid("clients write no control batches")
    if attributes & LOG_APPEND_TIME:
        return KafkaError(ErrorCode.INVALID_TIMESTAMP, "producers set no log append time")
    if attributes & DELETE_HORIZON:
        return invalid("producers set no delete horizon")
    return invalid(f"codec {attributes & CODEC_MASK}, want 0 to 4")


def _explain_counts(header: BatchHeader) -> KafkaError:
    if header.base_offset:
        return invalid(f"base offset {header.base_offset}, want 0")
    return invalid(f"{header.count} records with a last offset delta of {header.last_offset_delta}")
