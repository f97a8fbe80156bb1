"""A fetch from one partition: where its bytes are and what stands around them, for consumers and
followers.

Bytes are promised (a FileRange), not read, and never reach beyond what the reader may see. `read`
never waits: where an index or headers are cold it raises BlockingIOError, and `read_cold` answers.
Source: KIP-320 (leader epochs), KIP-595 (diverging epochs), KIP-98 (read committed).
"""

from enum import IntEnum
from typing import Final

import trio

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.index.transaction import AbortedTransaction
from trio_kafka.log.log import Log
from trio_kafka.log.queries import locate
from trio_kafka.log.queries import read as read_log
from trio_kafka.log.reading import Steps, run_cold, run_warm
from trio_kafka.records.file_range import FileRange
from trio_kafka.replication.epochs import end_of_epoch
from trio_kafka.replication.partition import NO_EPOCH, Partition

UNKNOWN_OFFSET: Final = -1


class Isolation(IntEnum):
    """How far a reader sees. The first two are numbers of the protocol."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2  # followers


# To look up a member of an enum costs a call.
_UNCOMMITTED: Final = Isolation.READ_UNCOMMITTED
_COMMITTED: Final = Isolation.READ_COMMITTED
_BY_LEVEL: Final = {0: _UNCOMMITTED, 1: _COMMITTED}


def isolation_of(level: int) -> Isolation:
    """What a request asks for.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) for any other number, as Kafka answers it.
    """
    isolation = _BY_LEVEL.get(level)
    if isolation is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"isolation level {level}: want 0 or 1")
    return isolation


@define  # not frozen, which would make it three times as dear
class Wanted:
    """What a fetch asks of one partition; never changed. -1: the client does not say.

    last_fetched_epoch: of the last batch that a follower has; log_start_offset: where its log
    begins.
    """

    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = UNKNOWN_OFFSET


@frozen
class EpochEnd:
    """Where the largest epoch not above the fetcher's ended: it truncates to there, or earlier."""

    epoch: int
    end_offset: int


@define
class PartitionRead:
    """The answer for one partition. Offsets are -1 with an error.

    range: must be sent or released. more: something may be seen at the offset that was asked for.
    """

    range: FileRange | None = None
    high_watermark: int = UNKNOWN_OFFSET
    last_stable_offset: int = UNKNOWN_OFFSET
    start_offset: int = UNKNOWN_OFFSET
    error: KafkaError | None = None
    diverging: EpochEnd | None = None
    aborted: tuple[AbortedTransaction, ...] = ()
    more: bool = False

    @property
    def is_idle(self) -> bool:
        """Nothing to say until the partition changes."""
        return not (self.more or self.range or self.error or self.diverging)

    @property
    def size(self) -> int:
        return 0 if self.range is None else self.range.left

    def release(self) -> None:
        """Give up the bytes."""
        if self.range is not None:
            self.range.release()
            self.range = None


def visible_end(log: Log, isolation: Isolation) -> int:
    """The offset that a reader does not see any more."""
    if isolation is _UNCOMMITTED:
        return log.high_watermark
    if isolation is _COMMITTED:
        return log.last_stable_offset
    return log.end_offset


def read(
    partition: Partition,
    wanted: Wanted,
    max_bytes: int,
    isolation: Isolation,
    at_least_one: bool,
) -> PartitionRead:
    """Up to `max_bytes` of what may be seen; one batch whatever its size with `at_least_one`.

    Raises KafkaError as `Partition.local_log`, OFFSET_OUT_OF_RANGE; BlockingIOError: use
    `read_cold`.
    """
    epoch = wanted.leader_epoch
    log = (partition.leading if epoch == NO_EPOCH else None) or partition.local_log(epoch)
    answer = around(log)
    if wanted.last_fetched_epoch != NO_EPOCH and _diverges(partition, log, wanted, answer):
        return answer
    end = answer.high_watermark if isolation is _UNCOMMITTED else visible_end(log, isolation)
    answer.more = wanted.offset < end
    try:
        found = read_log(log, wanted.offset, max_bytes, end, at_least_one)
    except LogDirError as error:
        raise partition.storage_error(error) from error
    answer.range = found.range
    if isolation is _COMMITTED and found.range is not None:
        try:
            answer.aborted = run_warm(_aborted(log, wanted.offset, end))
        except BlockingIOError:
            answer.release()
            raise
    return answer


async def read_cold(
    partition: Partition, wanted: Wanted, max_bytes: int, isolation: Isolation
) -> PartitionRead:
    """As `read` with `at_least_one`, waiting for the disk where it must.

    What is around is as of now.
    """
    log = partition.local_log(wanted.leader_epoch)
    answer = around(log)
    end = visible_end(log, isolation)
    answer.more = wanted.offset < end
    if wanted.last_fetched_epoch != NO_EPOCH and _diverges(partition, log, wanted, answer):
        await trio.lowlevel.checkpoint()
        return answer
    try:
        if isolation is _COMMITTED:
            # First, so that nothing is held while it waits.
            answer.aborted = await run_cold(_aborted(log, wanted.offset, end))
        answer.range = (await locate(log, wanted.offset, max_bytes, end)).range
    except LogDirError as error:
        raise partition.storage_error(error) from error
    return answer


def _aborted(log: Log, first: int, end: int) -> Steps[tuple[AbortedTransaction, ...]]:
    """The aborted transactions that a reader of the segment of `first` must know, below `end`."""
    segments = log.segments
    number = segments.floor(first)
    end = min(end, segments.end_of(number, end))
    found = []
    while (segment := segments.at(number)) is not None:
        entries = yield from segment.transactions.all()
        for aborted in entries:
            if aborted.last_offset >= first and aborted.first_offset < end:
                found.append(aborted)
            if aborted.last_stable_offset >= end:
                return tuple(found)
        number += 1
    return tuple(found)


def around(log: Log) -> PartitionRead:
    """An answer without bytes, as of now."""
    committed = log.high_watermark
    stable = log.producers.last_stable_offset(committed)
    return PartitionRead(None, committed, stable, log.start_offset)


def _diverges(partition: Partition, log: Log, wanted: Wanted, answer: PartitionRead) -> bool:
    """Whether the fetcher's log went another way; then `answer` says since when."""
    epoch, end = end_of_epoch(partition, log, wanted.last_fetched_epoch)
    if epoch == NO_EPOCH or end == UNKNOWN_OFFSET:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE, f"epoch {wanted.last_fetched_epoch} is not known here"
        )
    if wanted.offset < log.start_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {wanted.offset}, want {log.start_offset} to {log.end_offset}",
        )
    if epoch < wanted.last_fetched_epoch or end < wanted.offset:
        answer.diverging = EpochEnd(epoch, end)
        return True
    return False
