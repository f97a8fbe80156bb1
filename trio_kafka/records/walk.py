"""What a leader asks of each record of a Produce, where a topic wants them walked: costs Python per
record.

Needed for compacted topics, whose records must have keys, and everywhere with
`trio.record.validation=full`.
"""

from collections.abc import Generator, Iterable
from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.batch import DECOMPRESSED_LIMIT, Record, read_records
from trio_kafka.records.header import BatchHeader
from trio_kafka.records.validate import Limits, check_time
from trio_kafka.world.protocols import Buffer

_STEP: Final = 32  # records: 0.1 ms


def check_records(
    records: Buffer,
    header: BatchHeader,
    limits: Limits,
    *,
    now_ms: int,
    need_keys: bool,
    decompressed_limit: int = DECOMPRESSED_LIMIT,
) -> None:
    """Walk a batch that `check_produce` has let through, in one go. Raises as `walk_records`."""
    try:
        found = read_records(records, 0, header, decompressed_limit)
    except KafkaError as error:
        raise _invalid(error.message or "") from error
    for _ in walk_records(found, header, limits, now_ms=now_ms, need_keys=need_keys):
        pass


def walk_records(
    records: Iterable[Record],
    header: BatchHeader,
    limits: Limits,
    *,
    now_ms: int,
    need_keys: bool,
) -> Generator[None, None, None]:
    """The same in steps of a few records, which are decoded as they are walked.

    Raises KafkaError: INVALID_RECORD for a record without a key where one is needed, a gap in the
    offsets and for anything that cannot be read (not CORRUPT_MESSAGE: a client would send the same
    again), INVALID_TIMESTAMP.
    """
    expected = header.base_offset
    try:
        for record in records:
            index = expected - header.base_offset
            if record.offset != expected:
                raise _invalid(f"offset delta {record.offset - header.base_offset}, want {index}")
            if need_keys and record.key is None:
                raise _invalid(f"record {index} has no key: the topic is compacted")
            if not limits.log_append_time:
                check_time(record.timestamp, limits, now_ms)
            expected += 1
            if expected % _STEP == 0:
                yield
    except KafkaError as error:
        if error.code is ErrorCode.CORRUPT_MESSAGE:
            raise _invalid(error.message or "") from error
        raise


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
