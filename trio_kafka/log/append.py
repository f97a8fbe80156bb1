"""What must be true of batches before they may be appended. Pure.

Bytes have been validated before (CRC, counts, times); here stand the rules of the log.
Source: max.message.bytes, segment.bytes; KIP-98.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final, NamedTuple

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.config import LogConfig
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.records.header import (
    CONTROL,
    LENGTH_END,
    NO_PRODUCER_ID,
    TRANSACTIONAL,
    BatchHeader,
)


class Appended(NamedTuple):
    """Where batches are now. append_time_ms is -1 with create times.

    duplicate: they were there already, appended before by the same producer; then append_time_ms is
    the largest timestamp of what is there, with create times too, as in Kafka.
    """

    first_offset: int
    last_offset: int
    append_time_ms: int
    start_offset: int
    duplicate: bool = False


# Without the function that a NamedTuple is made by: a produce makes one for each partition.
new_appended: Final[Callable[[tuple[int, int, int, int, bool]], Appended]] = partial(
    tuple.__new__, Appended
)


def check_sizes(size: int, headers: Sequence[BatchHeader], config: LogConfig) -> None:
    """Raises KafkaError: MESSAGE_TOO_LARGE for a batch, RECORD_LIST_TOO_LARGE for all together."""
    for header in headers:
        if header.length + LENGTH_END > config.max_message_bytes:
            found = f"batch of {header.size} bytes, want at most {config.max_message_bytes}"
            raise KafkaError(ErrorCode.MESSAGE_TOO_LARGE, found)
    if size > config.segment_bytes:
        found = f"batches of {size} bytes, a segment has {config.segment_bytes}"
        raise KafkaError(ErrorCode.RECORD_LIST_TOO_LARGE, found)


def check_producers(
    headers: Sequence[BatchHeader], producers: ProducerState
) -> ProducedBatch | None:
    """Are sequences and epochs those that come next? The batch that these repeat, or None.

    Raises KafkaError as `ProducerState.check`.
    """
    for header in headers:
        if header.producer_id == NO_PRODUCER_ID or header.attributes & CONTROL:
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
