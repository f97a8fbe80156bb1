"""When a Produce may be answered. Pure: looks at partitions, changes nothing.

With acks=1 this broker must hold the records, durably where `flush.messages` says so, with acks=all
every replica in sync. What is queued has no offset before its turn. A partition that is lost in the
meantime is answered for at once. Source: the rules of Kafka's delayed produce.
"""

from collections.abc import Sequence
from typing import Final

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.append import Appended
from trio_kafka.replication.append import ACKS_ALL
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.partition import Partition

NO_ACKS: Final = 0
_LATE: Final = "the replicas in sync, or the disk, did not follow in time"


def acknowledged(partition: Partition, required_offset: int, acks: int = ACKS_ALL) -> bool:
    """Whether all in-sync replicas (acks=1: this one) hold everything below `required_offset`.

    Raises KafkaError: as `Partition.local_log`, and NOT_ENOUGH_REPLICAS_AFTER_APPEND where the set
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

    `result` is what its answer needs, once it does not wait; Queued: not appended yet.
    """

    partition: Partition | None
    result: Appended | Queued | KafkaError


def is_settled(partition: Partition, appended: Appended, acks: int) -> bool:
    """Whether what was appended just now may be told at once: nearly always."""
    if acks != ACKS_ALL:
        log = partition.leading
        if log is not None and log.flush_end <= log.recovery_point:
            return True  # nothing is to be durable first
    try:
        return acks == NO_ACKS or acknowledged(partition, appended.last_offset + 1, acks)
    except KafkaError:
        return False  # `ProduceWait` tells it


class ProduceWait:
    """The parts of one Produce until each is acknowledged; for `purgatory.Delayed`."""

    __slots__ = ("_waiting", "acks", "had_turns", "parts")

    def __init__(self, parts: Sequence[Produced], acks: int = ACKS_ALL) -> None:
        """parts: in the order of the request; those with an Appended wait for their replicas
        (acks=0: for nobody), those that are queued for their turn. Call `look` first."""
        self.parts = parts
        self.acks = acks
        self.had_turns = False  # at the last look: what was queued is appended, `keys` are others
        self._waiting = parts

    @property
    def keys(self) -> list[object]:
        """What to watch: what was waited for when `look` looked last.

        A partition for its replicas; the queued append for its turn, and the loss of its partition:
        the turns of others are not its concern, however many there are.
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
        """Whether nothing but this broker's disk is waited for."""
        return self.acks != ACKS_ALL or all(
            len(part.partition.isr) == 1 for part in self._waiting if part.partition is not None
        )

    def look(self) -> bool:
        """Whether every part has its result."""
        waiting = []
        self.had_turns = False
        for part in self._waiting:
            partition, result = part.partition, part.result
            if partition is None or isinstance(result, KafkaError):
                continue
            try:
                if isinstance(result, Queued):
                    if result.result is None:
                        partition.local_log()  # or else it has no turn to wait for
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
        """The parts, or None for "not yet".

        Whoever is late gets REQUEST_TIMED_OUT: it is appended all the same, or will be.
        """
        if self.look():
            return self.parts
        if not timed_out:
            return None
        for part in self._waiting:
            part.result = KafkaError(ErrorCode.REQUEST_TIMED_OUT, _LATE)
        self._waiting = ()
        return self.parts
