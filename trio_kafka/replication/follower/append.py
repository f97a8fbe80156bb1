"""Append of batches that a follower has fetched from its leader.

The fetcher will call it with each answer for a partition, and fetch from the end of the log next.
Offsets, epochs and times stay as the leader wrote them. What the leader says about its log is
followed afterwards: the high watermark up to the end of this log, and the start offset.

An answer may be late: the leader has lost its leadership, and sends batches that a newer leader may
not have. So the follower stores nothing of an epoch above the one in which it asked, nor anything
behind such a batch. When it knows the newer epoch, it truncates and asks again.
Source: UnifiedLog.appendAsFollower and analyzeAndValidateRecords, KAFKA-18723;
ReplicaFetcherThread.processPartitionData.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.append import append_as_follower
from trio_kafka.records.header import LENGTH_END, BatchHeader, check_crc, iterate_and_check
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class FetchedRecords:
    """Answer of a leader for one partition.

    leader_epoch: the epoch in which the follower asked. records: batches; the last one may be cut.
    high_watermark, start_offset: those of the leader's log.
    """

    leader_epoch: int
    records: memoryview
    high_watermark: int
    start_offset: int


def append_fetched(partition: Partition, fetched: FetchedRecords) -> int:
    """Append what was fetched, and follow the offsets of the leader. Return the end of the log.

    Raises KafkaError. Nothing was appended: NOT_LEADER_OR_FOLLOWER if the replica leads now; as
    `Partition.local_log`, such as FENCED_LEADER_EPOCH for an answer to an older epoch;
    CORRUPT_MESSAGE for a batch whose CRC is wrong; as `append_as_follower`, such as
    OFFSET_OUT_OF_RANGE for a batch that begins before the end of the log.
    The batches were appended: OFFSET_OUT_OF_RANGE if the leader's log begins above the high
    watermark.
    """
    log = partition.local_log(fetched.leader_epoch, leader_only=False)
    if isinstance(partition.role, Leading):
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.at} is led here")
    size, headers = _valid_batches(partition, fetched)
    try:
        if headers:
            append_as_follower(log, fetched.records[:size], headers)
    except LogDirError as error:
        raise partition.storage_error(error) from error
    log.high_watermark = fetched.high_watermark
    if fetched.start_offset > log.start_offset:
        log.set_start_offset(fetched.start_offset)
    partition.changed(partition)
    return log.end_offset


def _valid_batches(partition: Partition, fetched: FetchedRecords) -> tuple[int, list[BatchHeader]]:
    """Return the bytes and headers of the batches before the first one of a newer epoch."""
    headers: list[BatchHeader] = []
    size = 0
    for position, header, is_checked in iterate_and_check(fetched.records):
        if header.leader_epoch > fetched.leader_epoch:
            _logger.info(
                "batches of a newer leader epoch skipped",
                partition=str(partition.at),
                offset=header.base_offset,
                epoch=header.leader_epoch,
                known=fetched.leader_epoch,
            )
            break
        if not is_checked:
            check_crc(fetched.records, position, header)
        headers.append(header)
        size = position + header.length + LENGTH_END
    return size, headers
