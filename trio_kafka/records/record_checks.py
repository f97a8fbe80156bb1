"""Checks of each record of a Produce, for topics that need them. They cost Python for each record.

Compacted topics need them, as their records must have keys, and all topics with
`trio.record.validation=full`.
"""

from typing import Final

from trio_kafka.records.header import BatchHeader
from trio_kafka.records.record_scan import scan_records
from trio_kafka.records.validate import Limits, check_time, invalid
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Buffer

_STEP: Final = 32  # records in a step: 0.1 ms


def walk_records(
    data: Buffer, header: BatchHeader, limits: Limits, *, now_ms: int, need_keys: bool
) -> Steps[None]:
    """Check the records of decompressed `data`, in steps of a few records.

    Raises KafkaError: INVALID_RECORD for a missing key or a gap in the offsets, INVALID_TIMESTAMP,
    CORRUPT_MESSAGE as `scan_records`.
    """
    index = 0
    timed = not limits.log_append_time
    for scanned in scan_records(data, header):
        if scanned is None:
            yield
            continue
        delta, timestamp, key_size, *_ = scanned
        if delta != index:
            raise invalid(f"offset delta {delta}, want {index}")
        if need_keys and key_size < 0:
            raise invalid(f"record {index} has no key: the topic is compacted")
        if timed:
            check_time(timestamp, limits, now_ms)
        index += 1
        if index % _STEP == 0:
            yield
