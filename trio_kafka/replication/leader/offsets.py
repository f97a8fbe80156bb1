"""Offsets by timestamp, for ListOffsets: special timestamps at once, others by a search.

Without remote storage the local log is the whole log, and nothing is tiered.
Source: KIP-33 (search), KIP-207 (not available yet), KIP-320 (epochs), KIP-734 (-3), KIP-405 and
KIP-1005 (-4, -5), KIP-1023 (-6).
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.decompression import Decompression
from trio_kafka.log.log import Log
from trio_kafka.log.timestamp_search import largest_timestamp, offset_for_timestamp
from trio_kafka.replication.leader.epochs import end_of_epoch, first_epoch
from trio_kafka.replication.leader.read import EpochEnd, Isolation, visible_end
from trio_kafka.replication.partition import NO_EPOCH, Partition
from trio_kafka.replication.roles import Leading

LATEST: Final = -1
EARLIEST: Final = -2
LARGEST_TIME: Final = -3
EARLIEST_LOCAL: Final = -4
LATEST_TIERED: Final = -5
EARLIEST_PENDING_UPLOAD: Final = -6

# First version of ListOffsets with each timestamp; older ones are rejected.
_SINCE: Final = {
    LATEST: 1,
    EARLIEST: 1,
    LARGEST_TIME: 7,
    EARLIEST_LOCAL: 8,
    LATEST_TIERED: 9,
    EARLIEST_PENDING_UPLOAD: 11,
}


@frozen
class ListedOffset:
    """An answer; -1 stands for none. Special timestamps have no timestamp."""

    offset: int = -1
    timestamp: int = -1
    leader_epoch: int = NO_EPOCH


NOTHING: Final = ListedOffset()


def check_time_is_known(timestamp: int, version: int) -> None:
    """Raise KafkaError(UNSUPPORTED_VERSION) for a special timestamp newer than `version` of
    ListOffsets.
    """
    if timestamp < 0 and not _SINCE.get(timestamp, version + 1) <= version:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"special timestamp {timestamp}: want a newer version of ListOffsets than {version}",
        )


def special_offset(
    partition: Partition,
    timestamp: int,
    isolation: Isolation,
    leader_epoch: int = NO_EPOCH,
    *,
    leader_only: bool = True,
) -> ListedOffset | None:
    """Return the offset of a special timestamp; None: use `search_offset`.

    isolation: LOG_END for brokers.
    Raises KafkaError as `Partition.local_log`, and OFFSET_NOT_AVAILABLE for the latest offset while
    a new leader does not know what is committed.
    """
    log = partition.local_log(leader_epoch, leader_only=leader_only)
    if timestamp == LATEST:
        _check_available(partition, log, isolation)
        return ListedOffset(visible_end(log, isolation), -1, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        return ListedOffset(log.start_offset, -1, first_epoch(partition, log))
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return NOTHING
    return None


async def search_offset(
    partition: Partition,
    timestamp: int,
    isolation: Isolation,
    leader_epoch: int = NO_EPOCH,
    *,
    decompression: Decompression,
    leader_only: bool = True,
) -> ListedOffset:
    """Find the first record at `timestamp` (ms) or later; for LARGEST_TIME the first with the
    largest.

    NOTHING if there is none, or none that is visible. May wait for the disk. Raises KafkaError as
    `special_offset`.
    """
    while True:
        log = partition.local_log(leader_epoch, leader_only=leader_only)
        try:
            if timestamp == LARGEST_TIME:
                position = await largest_timestamp(log, decompression)
            else:
                position = await offset_for_timestamp(log, timestamp, decompression)
            break
        except LogDirError as error:
            raise partition.storage_error(error) from error
        except KafkaError:
            if not log.closed or partition.log is log:
                raise  # else the replica has moved to another directory meanwhile
    if position is None or position.offset >= visible_end(log, isolation):
        _check_available(partition, log, isolation)
        return NOTHING
    return ListedOffset(position.offset, position.timestamp, position.leader_epoch)


def epoch_end(
    partition: Partition, epoch: int, leader_epoch: int = NO_EPOCH, *, leader_only: bool = True
) -> EpochEnd:
    """Return where the largest epoch not above `epoch` ended, as OffsetForLeaderEpoch does; -1, -1:
    unknown.

    leader_epoch: the epoch that the client knows. Raises KafkaError as `Partition.local_log`.
    """
    log = partition.local_log(leader_epoch, leader_only=leader_only)
    return EpochEnd(*end_of_epoch(partition, log, epoch))


def _check_available(partition: Partition, log: Log, isolation: Isolation) -> None:
    role = partition.role
    if isolation is Isolation.LOG_END or not isinstance(role, Leading):
        return
    if role.epoch_start > log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"{partition.at}: high watermark {log.high_watermark} below {role.epoch_start}, "
            "where this leader began",
        )
