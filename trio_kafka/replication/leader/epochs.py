"""Leader epochs of a replica: those of its log, and the one in which it leads.

The latter may have no batch yet: it begins and ends at the end of the log. It is in no file, as
    each idle log would write it at each start; a load of the log drops such an entry anyway.
Source: KIP-101, KIP-279.
"""

from trio_kafka.log.epochs import NO_EPOCH, NO_OFFSET
from trio_kafka.log.log import Log
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading


def end_of_epoch(partition: Partition, log: Log, epoch: int) -> tuple[int, int]:
    """Return (the largest epoch <= `epoch`, where it ended); (-1, -1) if unknown."""
    if not _leads_without_a_batch(partition, log) or epoch <= log.epochs.latest:
        return log.epoch_end_offset(epoch)
    if epoch > partition.leader_epoch:
        return NO_EPOCH, NO_OFFSET
    if epoch == partition.leader_epoch or log.epochs.latest == NO_EPOCH:
        return epoch, log.end_offset
    return log.epochs.latest, log.end_offset


def first_epoch(partition: Partition, log: Log) -> int:
    """Return the epoch at the log's start; -1: unknown."""
    if log.start_offset == log.end_offset and _leads_without_a_batch(partition, log):
        return partition.leader_epoch
    return log.epochs.epoch_at(log.start_offset)


def _leads_without_a_batch(partition: Partition, log: Log) -> bool:
    return isinstance(partition.role, Leading) and log.epochs.latest < partition.leader_epoch
