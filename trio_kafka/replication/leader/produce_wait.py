"""Wait for the acknowledgement of an append. Reads a partition, changes nothing.

With acks=1 this broker must have the records, durably if `flush.messages` demands it. With acks=all
every in-sync replica must have them. A queued append has no offset before its turn. A partition
that is lost meanwhile is answered at once.
Source: the rules of Kafka's delayed produce.
"""

from typing import Final

import trio

from trio_kafka.attributes import define
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.waits import Wait
from trio_kafka.log.append import Appended
from trio_kafka.pending import Eventual
from trio_kafka.purgatory import Delayed
from trio_kafka.replication.append_queue import Queued
from trio_kafka.replication.isr import ACKS_ALL
from trio_kafka.replication.leader.append_waits import append_waits
from trio_kafka.replication.partition import Partition
from trio_kafka.replication.roles import Leading

NO_ACKS: Final = 0
SYNC_WAIT_S: Final = 30.0  # time for a sync, whatever the timeout of a produce
_LATE: Final = "the replicas in sync, or the disk, did not follow in time"


def acknowledged(partition: Partition, required_offset: int, acks: int = ACKS_ALL) -> bool:
    """Return whether all in-sync replicas have everything below `required_offset`.

    With acks=1: whether this replica has.
    Raises KafkaError: as `Partition.local_log`; NOT_ENOUGH_REPLICAS_AFTER_APPEND if the in-sync set
    has shrunk below its minimum since the append.
    """
    role = partition.role
    log = role.log if type(role) is Leading else partition.local_log()
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
class ProduceWait:
    """Wait for one append.

    result: an append waits for the replicas (acks=0: for nothing), a queued one for its turn.
    """

    partition: Partition
    result: Appended | Queued
    acks: int = ACKS_ALL

    @property
    def keys(self) -> tuple[object, object] | tuple[object]:
        """Keys to watch.

        An append watches its partition. A queued one watches itself and the loss of its partition,
        not the turns of other appends.
        """
        if isinstance(self.result, Queued):
            return self.result, self.partition.loss
        return (self.partition,)

    @property
    def is_local(self) -> bool:
        """True if only this broker's disk is waited for."""
        return self.acks != ACKS_ALL or len(self.partition.isr) == 1

    def look(self) -> Appended | None:
        """Return the append if it is complete.

        Raises KafkaError: that of the turn of a queued append; as `acknowledged`.
        """
        result = self.result
        if isinstance(result, Queued):
            outcome = result.result
            if outcome is None:
                self.partition.local_log()  # raises if it has no turn any more
                return None
            if isinstance(outcome, KafkaError):
                raise outcome
            self.result = result = outcome
        if self.acks == NO_ACKS or acknowledged(self.partition, result.last_offset + 1, self.acks):
            return result
        return None

    def waits(self, now: float) -> tuple[Wait, ...]:
        """See `introspect.waits.Waiting`."""
        return append_waits(self.partition, self.result, self.acks, now)

    def try_complete(self, timed_out: bool) -> Appended | None:
        """Return the append, or None if it is incomplete.

        Raises KafkaError as `look`; REQUEST_TIMED_OUT, though it is appended, or will be.
        """
        appended = self.look()
        if appended is None and timed_out:
            raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, _LATE)
        return appended


def wait_for(
    partition: Partition, result: Appended | Queued, acks: int, timeout_s: float
) -> Eventual[Appended]:
    """Return an append when it is acknowledged: now, or after at most `timeout_s`.

    Raises KafkaError, now or when the Pending completes, as `ProduceWait`.
    """
    wait = ProduceWait(partition, result, acks)
    appended = wait.look()
    if appended is not None:
        return appended

    def try_complete(timed_out: bool) -> Appended | None:
        before = wait.result
        appended = wait.try_complete(timed_out)
        if wait.result is not before:
            delayed.watch_instead(wait.keys)
        return appended

    wait_s = max(timeout_s, SYNC_WAIT_S) if wait.is_local else timeout_s
    deadline = trio.current_time() + wait_s
    delayed: Delayed[Appended] = Delayed(
        wait.keys, deadline, try_complete, partition.purgatories.produce, wait
    )
    return delayed
