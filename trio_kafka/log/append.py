"""What must be true of batches before they may be appended. Pure.

Bytes have been validated before (CRC, counts); here stand the rules of the topic and of the log.
Source: message.timestamp.*, max.message.bytes, segment.bytes; KIP-98, KIP-937.
"""

from collections.abc import Sequence
from typing import NamedTuple

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.records.header import (
    CONTROL,
    LENGTH_END,
    LOG_APPEND_TIME,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    TRANSACTIONAL,
    BatchHeader,
)


class Appended(NamedTuple):
    """Where batches are now. append_time_ms is -1 with create times.

    duplicate: they were there already, appended before by the same producer.
    """

    first_offset: int
    last_offset: int
    append_time_ms: int
    start_offset: int
    duplicate: bool = False


def check_sizes(size: int, headers: Sequence[BatchHeader], config: LogConfig) -> None:
    """Raises KafkaError: MESSAGE_TOO_LARGE for a batch, RECORD_LIST_TOO_LARGE for all together."""
    for header in headers:
        if header.length + LENGTH_END > config.max_message_bytes:
            found = f"batch of {header.size} bytes, want at most {config.max_message_bytes}"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, found)
    if size > config.segment_bytes:
        found = f"batches of {size} bytes, a segment has {config.segment_bytes}"
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, found)


def check_times(headers: Sequence[BatchHeader], config: LogConfig, now_ms: int) -> None:
    """Are create times near enough to now? Headers tell the first and the largest of a batch.

    Raises KafkaError(INVALID_TIMESTAMP), also for a client that claims log append time.
    """
    oldest = now_ms - config.message_timestamp_before_max_ms
    newest = now_ms + config.message_timestamp_after_max_ms
    for header in headers:
        if (
            oldest <= header.base_timestamp <= newest
            and oldest <= header.max_timestamp <= newest
            and not header.attributes & LOG_APPEND_TIME
        ):
            continue
        if header.attributes & CONTROL:
            continue
        if header.attributes & LOG_APPEND_TIME:
            raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "log append time set by a producer")
        for time in (header.base_timestamp, header.max_timestamp):
            if time != NO_TIMESTAMP and not oldest <= time <= newest:
                found = f"timestamp {time}, want {oldest} to {newest}"
                raise KafkaError(ErrorCode.INVALID_TIMESTAMP, found)


def check_producers(
    headers: Sequence[BatchHeader], producers: ProducerState
) -> ProducedBatch | None:
    """Are sequences and epochs those that come next? The batch that these repeat, or None.

    Raises KafkaError as `ProducerState.check`.
    """
    for header in headers:
        if header.producer_id == NO_PRODUCER_ID or header.base_sequence == NO_SEQUENCE:
            continue
        duplicate = producers.check(
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            header.last_offset_delta,
            transactional=bool(header.attributes & TRANSACTIONAL),
        )
        if duplicate is not None:
            return duplicate
    return None
