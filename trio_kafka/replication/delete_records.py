"""DeleteRecords: hide records below an offset. Retention removes whole segments later.

A deletion is complete when all replicas have hidden the records: the followers in sync, and the
future log of a replica that moves to another directory.
Source: KIP-107; Kafka's DelayedDeleteRecords.
"""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import trio
from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.metadata.names import is_internal
from trio_kafka.purgatory import Delayed, Purgatory
from trio_kafka.replication.partition import Partition

T = TypeVar("T")
HIGH_WATERMARK: Final = -1
NO_WATERMARK: Final = -1


@define(eq=False, kw_only=True)
class Deletion:
    """One partition's part of a DeleteRecords.

    offset: start that all replicas must reach. low_watermark: the lowest start of a replica.
    partition: None while there is an error.
    """

    partition: Partition | None = None
    offset: int = 0
    low_watermark: int = NO_WATERMARK
    error: ErrorCode = ErrorCode.NONE

    @property
    def is_done(self) -> bool:
        """True if the deletion failed or all replicas have reached `offset`."""
        return self.partition is None or self.low_watermark >= self.offset

    def look(self) -> bool:
        """Read the low watermark again. Return `is_done`."""
        if self.partition is not None:
            try:
                self.partition.local_log()
            except KafkaError as error:
                self.partition, self.error = None, error.code
            else:
                self.low_watermark = self.partition.low_watermark
        return self.is_done


def delete_records(partition: Partition, offset: int) -> int:
    """Move the log's start to `offset`, or to the high watermark. Return the wanted start.

    An offset below the start changes nothing.
    Raises KafkaError: INVALID_TOPIC_EXCEPTION for an internal topic; as `Partition.local_log`;
    POLICY_VIOLATION if `cleanup.policy` has no delete; OFFSET_OUT_OF_RANGE.
    """
    if is_internal(partition.at.topic):
        found = f"records of internal topic {partition.at.topic} cannot be deleted"
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, found)
    log = partition.local_log()
    if not log.config.deletes:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"cleanup.policy of {partition.at} has no delete, want one that has",
        )
    until = log.high_watermark if offset == HIGH_WATERMARK else offset
    if until < 0:
        raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {offset}, want 0 or more, or -1")
    log.set_start_offset(until)
    partition.changed(partition)
    return until


def begin_deletion(partition: Partition, offset: int) -> Deletion:
    """Delete records as `delete_records`. Return the part of the request, which may be done."""
    try:
        begun = Deletion(partition=partition, offset=delete_records(partition, offset))
    except KafkaError as error:
        return Deletion(error=error.code)
    begun.look()
    return begun


def complete_deletions(
    parts: Sequence[Deletion],
    make: Callable[[], T],
    timeout_s: float,
    purgatory: Purgatory,
) -> T | Delayed:
    """Return the answer if all parts are done, or a Delayed that waits for the others.

    At the timeout those get REQUEST_TIMED_OUT; their records stay hidden.
    """
    waiting = _Waiting([part for part in parts if not part.is_done])
    if not waiting.parts:
        return make()

    def try_complete(timed_out: bool) -> T | None:
        return make() if waiting.look(timed_out) else None

    keys: list[object] = []
    for part in waiting.parts:
        if part.partition is not None:
            keys += [part.partition, part.partition.loss]
    return Delayed(keys, trio.current_time() + max(timeout_s, 0.0), try_complete, purgatory)


@define(eq=False)
class _Waiting:
    """Parts of one request that are not done. The others are never looked at again."""

    parts: list[Deletion] = field()

    def look(self, timed_out: bool) -> bool:
        """Return whether all are done now, or out of time."""
        self.parts = [part for part in self.parts if not part.look()]
        if timed_out:
            for part in self.parts:
                part.error = ErrorCode.REQUEST_TIMED_OUT
        return timed_out or not self.parts
