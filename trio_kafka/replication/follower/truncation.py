"""Truncation of a follower's log to what it has in common with its leader's.

The leader says where the largest epoch ended that is not above the follower's last one: in its
answer to OffsetForLeaderEpoch, or as the diverging epoch of a Fetch. The fetcher will call
`truncate` with it, and again with the leader's next answer until the logs agree. A follower that
does not know the epoch of the answer cuts to the end of the largest one below it, which the leader
may not know either.
Source: KIP-101, KIP-279, KIP-595; AbstractFetcherThread.getOffsetTruncationState.
"""

from typing import Final

from trio_kafka.attributes import frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.introspect.log import get_logger
from trio_kafka.log.epochs import NO_EPOCH, NO_OFFSET
from trio_kafka.log.log import Log
from trio_kafka.log.truncate import truncate_to
from trio_kafka.replication.leader.read import EpochEnd
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading

_logger: Final = get_logger(__name__)


@frozen(kw_only=True)
class Truncation:
    """Offset at which to cut a log. agrees: what is left is a prefix of the leader's log."""

    offset: int
    agrees: bool


def truncation_of(log: Log, leader: EpochEnd) -> Truncation:
    """Return where to cut a log of which the leader has said `leader`; -1, -1: it knows nothing.

    Without an offset of the leader the log stays as it is if it has epochs, by which the leader
    will find a difference; otherwise only what is committed stays.
    """
    end = log.end_offset
    if leader.end_offset == NO_OFFSET:
        unknown = log.high_watermark if log.leader_epoch == NO_EPOCH else end
        return Truncation(offset=unknown, agrees=True)
    epoch, epoch_end = NO_EPOCH, NO_OFFSET
    if leader.epoch != NO_EPOCH:
        epoch, epoch_end = log.epoch_end_offset(leader.epoch)
    if epoch == NO_EPOCH:
        return Truncation(offset=min(leader.end_offset, end), agrees=True)
    if epoch != leader.epoch:
        return Truncation(offset=min(epoch_end, end), agrees=False)
    return Truncation(offset=min(epoch_end, leader.end_offset, end), agrees=True)


async def truncate(partition: Partition, leader: EpochEnd, leader_epoch: int) -> bool:
    """Cut the log of a follower as the leader of `leader_epoch` says. Return whether both agree.

    False: ask the leader for the end of the last epoch that is left.
    Raises KafkaError: NOT_LEADER_OR_FOLLOWER if the replica leads now; as `Partition.local_log`;
    REPLICA_NOT_AVAILABLE as `truncate_to`.
    """
    log = partition.local_log(leader_epoch, leader_only=False)
    if isinstance(partition.role, Leading):
        raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{partition.at} is led here")
    truncation = truncation_of(log, leader)
    if truncation.offset < log.high_watermark:
        _logger.warning(
            "truncated below the high watermark",
            partition=str(partition.at),
            offset=truncation.offset,
            high_watermark=log.high_watermark,
        )
    try:
        await truncate_to(log, truncation.offset)
    except LogDirError as error:
        raise partition.storage_error(error) from error
    partition.changed(partition)
    return truncation.agrees
