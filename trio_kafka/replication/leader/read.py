"""Read of one partition for a Fetch: where its bytes are, and the offsets of its answer.

Bytes are promised (a FileRange), not read, and never reach beyond what the reader may see. A read
is performed in the loop (`read`), or in threads if it would wait for the disk.
Source: KIP-320 (leader epochs), KIP-595 (diverging epochs), KIP-98 (read committed).
"""

from enum import IntEnum
from functools import partial
from typing import Final

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError, LogDirError
from trio_kafka.log.files.operations import FileWork
from trio_kafka.log.index.aborted_transactions import AbortedTransactions
from trio_kafka.log.log import Log
from trio_kafka.log.read import (
    FileSlice,
    find_slice,
    lease_recent,
    lease_slice,
    perform_in_threads,
    perform_now,
)
from trio_kafka.records.file_range import FileRange
from trio_kafka.replication.leader.epochs import end_of_epoch
from trio_kafka.replication.partition import NO_EPOCH, UNKNOWN_OFFSET, Partition
from trio_kafka.replication.roles import Leading


class Isolation(IntEnum):
    """Visibility of a reader. The first two are numbers of the protocol."""

    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1
    LOG_END = 2  # followers


# A lookup of an enum's member costs a call.
_UNCOMMITTED: Final = Isolation.READ_UNCOMMITTED
_COMMITTED: Final = Isolation.READ_COMMITTED
_CONSUMERS: Final = frozenset({_UNCOMMITTED, _COMMITTED})
_BY_LEVEL: Final = {0: _UNCOMMITTED, 1: _COMMITTED}


def isolation_of(level: int) -> Isolation:
    """Return the isolation of a request.

    Raises KafkaError(UNKNOWN_SERVER_ERROR) for any other number, as Kafka does.
    """
    isolation = _BY_LEVEL.get(level)
    if isolation is None:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"isolation level {level}: want 0 or 1")
    return isolation


@define  # not frozen, which triples the time to make one
class PartitionFetch:
    """A fetch's request for one partition; never changed. -1: not given by the client.

    last_fetched_epoch: of the last batch of a follower. log_start_offset: start of the follower's
        log.
    """

    offset: int
    max_bytes: int
    leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH
    log_start_offset: int = UNKNOWN_OFFSET


@frozen
class EpochEnd:
    """End of the largest epoch not above the fetcher's, to which the fetcher truncates at most."""

    epoch: int
    end_offset: int


@define
class PartitionRead:
    """Answer for one partition. Offsets are -1 with an error.

    range: must be sent or released. more: there are visible records at the wanted offset.
    """

    range: FileRange | None = None
    high_watermark: int = UNKNOWN_OFFSET
    last_stable_offset: int = UNKNOWN_OFFSET
    start_offset: int = UNKNOWN_OFFSET
    error: KafkaError | None = None
    diverging: EpochEnd | None = None
    aborted: AbortedTransactions | None = None
    more: bool = False

    @property
    def is_idle(self) -> bool:
        """True if there is nothing to answer until the partition changes."""
        return not (self.more or self.range or self.error or self.diverging)

    @property
    def size(self) -> int:
        return 0 if self.range is None else self.range.remaining

    def release(self) -> None:
        """Release the bytes."""
        if self.range is not None:
            self.range.release()
            self.range = None


def visible_end(log: Log, isolation: Isolation) -> int:
    """Return the end of what a reader may see."""
    if isolation is _UNCOMMITTED:
        return log.high_watermark
    if isolation is _COMMITTED:
        return log.last_stable_offset
    return log.end_offset


def read(
    partition: Partition,
    request: PartitionFetch,
    max_bytes: int,
    isolation: Isolation,
    at_least_one: bool,
) -> PartitionRead:
    """Read up to `max_bytes` of what may be seen; with `at_least_one` one batch whatever its size.

    Raises KafkaError as `Partition.local_log`, OFFSET_OUT_OF_RANGE. BlockingIOError: the bytes or
    an index are not in memory, use `read_in_threads`.
    """
    epoch = request.leader_epoch
    role = partition.role
    knows = epoch != NO_EPOCH  # then it is checked
    log = partition.local_log(epoch) if knows or type(role) is not Leading else role.log
    if isolation is not _COMMITTED and request.last_fetched_epoch == NO_EPOCH:
        end = log.high_watermark if isolation is _UNCOMMITTED else log.end_offset
        recent = lease_recent(log, request.offset, max_bytes, end_offset=end)
        if recent is not None:
            answer = around(log)
            answer.range, answer.more = recent, True
            return answer
    work = _searching(partition, log, request, max_bytes, isolation, at_least_one=at_least_one)
    try:
        return _leased(log, perform_now(log, work))
    except LogDirError as error:
        raise partition.storage_error(error) from error


async def read_in_threads(
    partition: Partition, request: PartitionFetch, max_bytes: int, isolation: Isolation
) -> PartitionRead:
    """Read as `read` with `at_least_one` does; wait for the disk if necessary."""

    while True:
        log = partition.local_log(request.leader_epoch)
        search = partial(_searching, partition, log, request, max_bytes, isolation)
        try:
            return _leased(log, await perform_in_threads(log, search))
        except LogDirError as error:
            raise partition.storage_error(error) from error
        except KafkaError:
            if not log.closed or partition.log is log:
                raise  # else the replica has moved to another directory meanwhile


def _searching(
    partition: Partition,
    log: Log,
    request: PartitionFetch,
    max_bytes: int,
    isolation: Isolation,
    *,
    at_least_one: bool = True,
) -> FileWork[tuple[PartitionRead, FileSlice | None]]:
    """Search what is read, without a lease. The offsets are those of the beginning."""
    answer = around(log)
    if request.last_fetched_epoch != NO_EPOCH and _diverges(partition, log, request, answer):
        return answer, None
    offset = request.offset
    end = answer.high_watermark if isolation is _UNCOMMITTED else visible_end(log, isolation)
    answer.more = offset < end
    committed = isolation is _COMMITTED
    file_range = yield from find_slice(
        log, offset, max_bytes, end_offset=end, at_least_one=at_least_one, with_aborted=committed
    )
    if file_range is not None:
        answer.aborted = file_range.aborted
        reason = file_range.segment.unreadable.get(file_range.first_offset)
        if reason is not None and isolation in _CONSUMERS:
            # Otherwise a client that cannot parse the batch waits for ever without an error.
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"unreadable batch at {reason}")
    return answer, file_range


def _leased(log: Log, result: tuple[PartitionRead, FileSlice | None]) -> PartitionRead:
    """Take the lease of a search's result, which counts from now on. KafkaError, LogDirError."""
    answer, file_range = result
    if file_range is not None:
        answer.range = lease_slice(log, file_range)
    return answer


def around(log: Log) -> PartitionRead:
    """Return an answer without bytes, with the offsets of this moment."""
    return PartitionRead(None, log.high_watermark, log.last_stable_offset, log.start_offset)


def _diverges(
    partition: Partition, log: Log, request: PartitionFetch, answer: PartitionRead
) -> bool:
    """Return whether the fetcher's log has diverged; then `answer` has the end of the common
    epoch.
    """
    epoch, end = end_of_epoch(partition, log, request.last_fetched_epoch)
    if epoch == NO_EPOCH or end == UNKNOWN_OFFSET:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{partition.at}: its log has no leader epoch {request.last_fetched_epoch}",
        )
    if request.offset < log.start_offset:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {request.offset}, want {log.start_offset} to {log.end_offset}",
        )
    if epoch < request.last_fetched_epoch or end < request.offset:
        answer.diverging = EpochEnd(epoch, end)
        return True
    return False
