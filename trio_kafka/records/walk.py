"""What a leader asks of each record of a Produce, where a topic wants them walked: costs Python per
record.

Needed for compacted topics, whose records must have keys, and everywhere with
`trio.record.validation=full`.
"""

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import DECOMPRESSED_LIMIT, read_records
from trio_kafka.records.header import BatchHeader
from trio_kafka.records.validate import Limits, check_time
from trio_kafka.world.protocols import Buffer


def check_records(
    records: Buffer,
    header: BatchHeader,
    limits: Limits,
    *,
    now_ms: int,
    need_keys: bool,
    decompressed_limit: int = DECOMPRESSED_LIMIT,
) -> None:
    """Walk a batch that `check_produce` has let through.

    Raises KafkaError: INVALID_RECORD for a record without a key where one is needed, a gap in the
    offsets and for anything that cannot be read (not CORRUPT_MESSAGE: a client would send the same
    again), INVALID_TIMESTAMP.
    """
    expected = header.base_offset
    try:
        for record in read_records(records, 0, header, decompressed_limit):
            index = expected - header.base_offset
            if record.offset != expected:
                raise _invalid(f"offset delta {record.offset - header.base_offset}, want {index}")
            if need_keys and record.key is None:
                raise _invalid(f"record {index} has no key: the topic is compacted")
            if not limits.log_append_time:
                check_time(record.timestamp, limits, now_ms)
            expected += 1
    except KafkaError as error:
        if error.code is ErrorCode.CORRUPT_MESSAGE:
            raise _invalid(error.message or "") from error
        raise


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
