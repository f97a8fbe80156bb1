"""Checks of each record of a Produce, for topics that need them. They cost Python for each record.

Compacted topics need them, as their records must have keys, and all topics with
`trio.record.validation=full`.
"""

from typing import Final

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.compression import decompress
from trio_kafka.records.header import HEADER_SIZE, BatchHeader
from trio_kafka.records.record_scan import scan_records
from trio_kafka.records.validate import Limits, check_time
from trio_kafka.scheduling.chunked_work import Steps, whole
from trio_kafka.world.protocols import Buffer

_STEP: Final = 32  # records in a step: 0.1 ms


def check_records(
    batch: memoryview,
    header: BatchHeader,
    limits: Limits,
    *,
    now_ms: int,
    need_keys: bool,
    decompressed_limit: int,
) -> None:
    """Check the records of a batch that passed `check_produce`, without a pause. Raises as
    `walk_records`.
    """
    try:
        plain = decompress(header.codec, batch[HEADER_SIZE : header.size], decompressed_limit)
    except KafkaError as error:
        raise _invalid(error.message or "") from error
    whole(walk_records(plain, header, limits, now_ms=now_ms, need_keys=need_keys))


def walk_records(
    data: Buffer, header: BatchHeader, limits: Limits, *, now_ms: int, need_keys: bool
) -> Steps[None]:
    """Check the records of decompressed `data`, in steps of a few records.

    Raises KafkaError: INVALID_RECORD for a missing key, a gap in the offsets and invalid bytes
    (after CORRUPT_MESSAGE a client would send the same batch again), INVALID_TIMESTAMP.
    """
    index = 0
    timed = not limits.log_append_time
    try:
        for skimmed in scan_records(data, header):
            if skimmed is None:
                yield
                continue
            delta, timestamp, key_size, *_ = skimmed
            if delta != index:
                raise _invalid(f"offset delta {delta}, want {index}")
            if need_keys and key_size < 0:
                raise _invalid(f"record {index} has no key: the topic is compacted")
            if timed:
                check_time(timestamp, limits, now_ms)
            index += 1
            if index % _STEP == 0:
                yield
    except KafkaError as error:
        if error.code is ErrorCode.CORRUPT_MESSAGE:
            raise _invalid(error.message or "") from error
        raise


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, message)
