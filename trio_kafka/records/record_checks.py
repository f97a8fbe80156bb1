"""Checks of each record of a Produce, for batches that need them. They cost Python for each record.

Compacted topics need them, as their records must have keys, and all topics with
`trio.record.validation=full`. So do batches whose header has suspicious times.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.records.header import CODEC_MASK, LOG_APPEND_TIME, NO_TIMESTAMP, BatchHeader
from trio_kafka.records.leaf import CheckRules, CheckState, ScanState, leaf
from trio_kafka.records.record_scan import scan_records
from trio_kafka.records.validate import MAX_LONG, Limits, invalid
from trio_kafka.scheduling.chunked_work import Steps
from trio_kafka.world.protocols import Buffer

MOST_LISTED: Final = 1000  # bad records that an answer lists: a batch of 1 MiB has up to 150,000
_STEP: Final = 32  # records in a step: 0.1 ms
_LEAF_STEP: Final = 4096  # records and headers in a step of the compiled leaf: 0.1 ms
_LEAF_MOST: Final = 16_384  # at once: 0.4 ms, for a batch of 1 MiB with 64-byte records
_LEAF_BEGIN: Final = CheckState(0, 0, NO_TIMESTAMP)


class BadRecordsError(KafkaError):
    """Raised for records of a batch that break a rule. records: index and reason of each
    (KIP-467).
    """

    def __init__(self, code: ErrorCode, records: list[tuple[int, str]]) -> None:
        index, reason = records[0]
        super().__init__(code, f"record {index} of the batch, and maybe others: {reason}")
        self.records = records


@define
class _BadRecords:
    """Bad records so far. The error is INVALID_TIMESTAMP if one of them has a bad timestamp."""

    code: ErrorCode = ErrorCode.INVALID_RECORD
    records: list[tuple[int, str]] = field(factory=list)

    def add(self, index: int, reason: str) -> None:
        if len(self.records) < MOST_LISTED:
            self.records.append((index, reason))


def is_sound(
    data: Buffer, header: BatchHeader, limits: Limits, *, now_ms: int, need_keys: bool
) -> bool:
    """True: the compiled leaf has checked all decompressed records, and nothing is to be changed.

    False: `walk_records` finds out. Without the leaf, for very many records, and for wrong times in
    the header, too. Costs 1 µs, and 0.02 µs a record.
    """
    compiled = leaf()
    if compiled is None or header.attributes & LOG_APPEND_TIME:
        return False
    oldest, newest = now_ms - limits.before_max_ms, now_ms + limits.after_max_ms
    newest = min(newest, MAX_LONG)
    longest = limits.max_record_bytes if header.attributes & CODEC_MASK else len(data)
    rules = (longest, oldest, newest, need_keys, not limits.log_append_time)
    place = compiled.check_records(data, header, rules, _LEAF_BEGIN, _LEAF_MOST)
    return (
        place is not None
        and place[1] == header.count
        and (place[2] == header.max_timestamp or limits.log_append_time)
    )


def walk_records(
    data: Buffer, header: BatchHeader, limits: Limits, *, now_ms: int, need_keys: bool
) -> Steps[int]:
    """Check the records of decompressed `data`, in steps of a few records.

    Returns the largest timestamp, which the header may have wrong.
    Raises KafkaError: BadRecordsError for missing keys and for timestamps, INVALID_RECORD for a gap
    in the offsets, CORRUPT_MESSAGE as `scan_records`.
    """
    timed = not limits.log_append_time
    oldest, newest = now_ms - limits.before_max_ms, now_ms + limits.after_max_ms
    is_stamped = bool(header.attributes & LOG_APPEND_TIME)
    longest = limits.max_record_bytes if header.codec else len(data)
    state = _LEAF_BEGIN
    if (compiled := leaf()) is not None:
        rules = CheckRules(
            longest, max(oldest, -MAX_LONG), min(newest, MAX_LONG), bool(need_keys), timed
        )
        while part := compiled.check_records(data, header, rules, state, _LEAF_STEP):
            state = CheckState(*part)
            if state.number == header.count:
                return state.latest
            yield
    at, index, latest = state
    bad = _BadRecords()
    for scanned in scan_records(data, header, longest, ScanState(at, index, index - 1)):
        if scanned is None:
            yield
            continue
        delta, timestamp, key_size, *_ = scanned
        if delta != index:
            raise invalid(f"offset delta {delta}, want {index}")
        if need_keys and key_size < 0:
            bad.add(index, "it has no key, and the topic is compacted")
        elif timed and timestamp != NO_TIMESTAMP:
            if not oldest <= timestamp <= newest:
                bad.code = ErrorCode.INVALID_TIMESTAMP
                bad.add(index, f"timestamp {timestamp}, want {oldest} to {newest}")
        elif is_stamped:
            bad.code = ErrorCode.INVALID_TIMESTAMP
            bad.add(index, "the producer has set an append time, which only brokers do")
        latest = max(latest, timestamp)
        index += 1
        if index % _STEP == 0:
            yield
    if bad.records:
        raise BadRecordsError(bad.code, bad.records)
    return latest
