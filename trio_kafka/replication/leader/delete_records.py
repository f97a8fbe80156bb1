"""DeleteRecords: hide records below an offset. Retention removes whole segments later.

A deletion is complete when all replicas have hidden the records: the followers in sync, and the
future log of a replica that moves to another directory.
Source: KIP-107; Kafka's DelayedDeleteRecords.
"""

from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.waits import Subject, Wait
from trio_kafka.metadata.names import is_internal
from trio_kafka.pending import Eventual
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.partition import Partition

HIGH_WATERMARK: Final = -1
NO_WATERMARK: Final = -1


def delete_records(partition: Partition, offset: int) -> int:
    """Move the log's start to `offset`, or to the high watermark. Return the wanted start.

    An offset below the start changes nothing.
    Raises KafkaError: INVALID_TOPIC_EXCEPTION for an internal topic; as `Partition.local_log`;
    POLICY_VIOLATION if `cleanup.policy` is compact alone; OFFSET_OUT_OF_RANGE. With no policy at
    all, records leave in no other way. Source: Kafka's Partition.deleteRecordsOnLeader.
    """
    if is_internal(partition.at.topic):
        reason = f"records of internal topic {partition.at.topic} cannot be deleted"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)
    log = partition.local_log()
    if log.config.compacts and not log.config.deletes:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"cleanup.policy of {partition.at} is compact, want compact,delete, delete or none",
        )
    until = log.high_watermark if offset == HIGH_WATERMARK else offset
    if until < 0:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, want 0 or more, or -1")
    log.set_start_offset(until)
    partition.changed(partition)
    return until


def delete_everywhere(partition: Partition, offset: int, timeout_s: float) -> Eventual[int]:
    """Delete records as `delete_records`. Return the low watermark when all replicas have hidden
    them.

    Raises KafkaError, now or when the Pending completes: as `delete_records`; REQUEST_TIMED_OUT,
    the records stay hidden; as `Partition.local_log` if the partition is lost meanwhile.
    """
    deletion = _Deletion(partition, delete_records(partition, offset))
    low_watermark = deletion.try_complete(False)
    if low_watermark is not None:
        return low_watermark
    deadline = trio.current_time() + max(timeout_s, 0.0)
    return Delayed(
        (partition, partition.loss),
        deadline,
        deletion.try_complete,
        partition.purgatories.deletions,
        deletion,
    )


@define(eq=False)
class _Deletion:
    """Wait until all replicas have hidden the records below `until`."""

    partition: Partition
    until: int

    def try_complete(self, timed_out: bool) -> int | None:
        """See `Delayed.try_complete`."""
        self.partition.local_log()
        low_watermark = self.partition.low_watermark
        if low_watermark >= self.until:
            return low_watermark
        if timed_out:
            raise TimedOutDeletionError(low_watermark)
        return None

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        del now
        name, low_watermark = str(self.partition.at), self.partition.low_watermark
        return (
            Wait(
                cause="change",
                words=f"all replicas of {name} to hide the records below {self.until:,}",
                on=Subject("partition", name),
                needs=self.until,
                has=None if low_watermark == NO_WATERMARK else low_watermark,
                unit="offset",
                then="it is answered with REQUEST_TIMED_OUT, and the records stay hidden",
            ),
        )


class TimedOutDeletionError(KafkaError):
    """Deletion that not all replicas have followed in time. low_watermark: the lowest start."""

    def __init__(self, low_watermark: int) -> None:
        super().__init__(ErrorCode.REQUEST_TIMED_OUT)
        self.low_watermark = low_watermark
