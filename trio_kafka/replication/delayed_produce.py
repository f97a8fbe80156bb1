"""Conditions for the answer of a Produce. Pure: reads partitions, changes nothing.

With acks=1 this broker must have the records, durably if `flush.messages` demands it. With acks=all
every in-sync replica must have them. A queued append has no offset before its turn. A partition
that is lost meanwhile is answered at once.
Source: the rules of Kafka's delayed produce.
"""

from collections.abc import Sequence
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.append import Appended
from trio_kafka.records.validate import NoBatchError
from trio_kafka.replication.append import ACKS_ALL
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.read import UNKNOWN_OFFSET
from trio_kafka.replication.topic_metrics import EXPECTED_OF_PRODUCE

NO_ACKS: Final = 0
_LATE: Final = "the replicas in sync, or the disk, did not follow in time"


def acknowledged(partition: Partition, required_offset: int, acks: int = ACKS_ALL) -> bool:
    """Return whether all in-sync replicas have everything below `required_offset`.

    With acks=1: whether this replica has.
    Raises KafkaError: as `Partition.local_log`; NOT_ENOUGH_REPLICAS_AFTER_APPEND if the in-sync set
    has shrunk below its minimum since the append.
    """
    log = partition.leading or partition.local_log()
    if acks != ACKS_ALL:
        return log.durable_end >= required_offset
    if log.high_watermark < required_offset:
        return False
    in_sync = len(partition.isr)
    if in_sync < partition.settings.min_insync_replicas and in_sync < partition.minimum:
        raise KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
            f"{in_sync} replicas in sync, want {partition.minimum}",
        )
    return True


@define(eq=False)
class Produced:
    """One partition's part of a Produce.

    result: what its answer needs when it is complete; Queued: not appended yet.
    """

    partition: Partition | None
    result: Appended | Queued | KafkaError

    def start_offset(self) -> int:
        """Return the start of the log for an answer with an error; -1 where Kafka gives none."""
        log = None if self.partition is None else self.partition.leading
        error = self.result
        if log is None or not isinstance(error, KafkaError) or isinstance(error, NoBatchError):
            return UNKNOWN_OFFSET
        return UNKNOWN_OFFSET if error.code in EXPECTED_OF_PRODUCE else log.start_offset


def is_settled(partition: Partition, appended: Appended, acks: int) -> bool:
    """Return whether a finished append may be answered at once: nearly always."""
    if acks != ACKS_ALL:
        log = partition.leading
        if log is not None and log.flush_end <= log.recovery_point:
            return True  # nothing must be durable first
    try:
        return acks == NO_ACKS or acknowledged(partition, appended.last_offset + 1, acks)
    except KafkaError:
        return False  # `ProduceWait` reports it


@define(eq=False)
class ProduceWait:
    """Parts of one Produce until each is acknowledged, for `purgatory.Delayed`.

    parts: in the order of the request. Appended ones wait for their replicas (acks=0: not at all),
        queued ones for their turn. Call `look` first.
    had_turns: a queued part was appended at the last look, so `keys` have changed.
    """

    parts: Sequence[Produced]
    acks: int = ACKS_ALL
    had_turns: bool = field(default=False, init=False)
    _waiting: Sequence[Produced] = field(init=False)

    @_waiting.default
    def _all(self) -> Sequence[Produced]:
        return self.parts

    @property
    def keys(self) -> list[object]:
        """Keys to watch, for the parts that were incomplete at the last `look`.

        An appended part watches its partition. A queued part watches its append and the loss of its
        partition, not the turns of other appends.
        """
        keys: list[object] = []
        for part in self._waiting:
            if isinstance(part.result, Queued):
                keys.append(part.result)
            if part.partition is not None:
                queued = isinstance(part.result, Queued)
                keys.append(part.partition.loss if queued else part.partition)
        return keys

    @property
    def is_local(self) -> bool:
        """True if only this broker's disk is waited for."""
        return self.acks != ACKS_ALL or all(
            len(part.partition.isr) == 1 for part in self._waiting if part.partition is not None
        )

    def look(self) -> bool:
        """Check the incomplete parts. Return whether all are complete."""
        waiting = []
        self.had_turns = False
        for part in self._waiting:
            partition, result = part.partition, part.result
            if partition is None or isinstance(result, KafkaError):
                continue
            try:
                if isinstance(result, Queued):
                    if result.result is None:
                        partition.local_log()  # raises if it has no turn any more
                        waiting.append(part)
                        continue
                    part.result = result = result.result
                    self.had_turns = True
                if isinstance(result, KafkaError) or self.acks == NO_ACKS:
                    continue
                if not acknowledged(partition, result.last_offset + 1, self.acks):
                    waiting.append(part)
            except KafkaError as error:
                part.result = error.as_value()
        self._waiting = waiting
        return not waiting

    def try_complete(self, timed_out: bool) -> Sequence[Produced] | None:
        """Return the parts, or None if some are incomplete.

        After the timeout those get REQUEST_TIMED_OUT; they are appended all the same, or will be.
        """
        if self.look():
            return self.parts
        if not timed_out:
            return None
        for part in self._waiting:
            part.result = KafkaError(ErrorCode.REQUEST_TIMED_OUT, _LATE)
        self._waiting = ()
        return self.parts
