"""Writes the markers of prepared transactions, and tells the coordinator when all are written.

A transaction is queued by its id, so the queue is bounded by the number of ids. A partition whose
marker is refused for now is tried again after a pause; one whose topic was deleted needs none. A
marker that is refused for good (a newer coordinator has written) ends the work on the transaction.
Source: TransactionMarkerChannelManager of Apache Kafka 4.4.0.
"""

from collections import deque
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Final, NoReturn

import trio
from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import ErrorCode
from trio_kafka.introspect.log import get_logger
from trio_kafka.introspect.tree import Figures
from trio_kafka.metadata.image import MetadataImage
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, Work, then
from trio_kafka.purgatory import Delayed, Timer, Timers
from trio_kafka.replication.leader.markers import Markers, TransactionMarker
from trio_kafka.scheduling.chunked_work import advance

FIRST_RETRY_S: Final = 0.02
LONGEST_RETRY_S: Final = 1.0
_SLICE_S: Final = 0.0005
_AT_ONCE: Final = 50  # markers in one turn of the loop: 3 ms
_MOST_SORTED: Final = 1000  # partitions: 1 ms
_DONE: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})
_FENCED: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)
_LED_ELSEWHERE: Final = frozenset(
    {ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
)
_logger: Final = get_logger(__name__)
Results = Mapping[TopicPartition, ErrorCode]


@define(eq=False)
class _Job:
    """Markers of one transaction. remaining: partitions that have none yet. untried: those of them
    that are still to be tried before the next pause. errors: of the last attempt at each.
    """

    transaction: Transaction
    remaining: set[TopicPartition]
    untried: list[TopicPartition] = field(factory=list)
    failures: int = 0
    errors: set[ErrorCode] = field(factory=set)
    pause: Timer | None = None


@frozen
class MarkerProgress:
    """Markers that are being written. remaining: partitions without one. errors: of those that were
    refused last.
    """

    remaining: frozenset[TopicPartition]
    errors: frozenset[ErrorCode]


class MarkerWriter:
    """Queue and task of all shards."""

    def __init__(
        self,
        markers: Markers,
        timers: Timers,
        *,
        coordinator_epoch: Callable[[str], int],
        image: Callable[[], MetadataImage],
        written: Callable[[Transaction], None],
        elapsed: Callable[[], float],
    ) -> None:
        """coordinator_epoch: leader epoch of the partition of a transactional id. image: of the
        metadata. written: called when every partition of a transaction has its marker.
        """
        self._markers = markers
        self._timers = timers
        self._coordinator_epoch = coordinator_epoch
        self._image = image
        self._written = written
        self._elapsed = elapsed
        self._jobs: dict[str, _Job] = {}
        self._ready: deque[_Job] = deque()
        self._completions: deque[Delayed[object]] = deque()
        self._waiting: dict[Delayed[object], None] = {}
        self._event = trio.Event()
        self._sent = self._failed = self._fenced = 0

    @property
    def names(self) -> tuple[str, ...]:
        """Transactional ids whose markers are being written."""
        return tuple(self._jobs)

    def progress(self, transactional_id: str) -> MarkerProgress | None:
        """Return what an id still waits for; None: nothing, or its markers were fenced."""
        job = self._jobs.get(transactional_id)
        return (
            None
            if job is None
            else MarkerProgress(frozenset(job.remaining), frozenset(job.errors - _DONE))
        )

    def send(self, transaction: Transaction) -> None:
        """Have the markers of a prepared transaction written. Replaces earlier work on its id."""
        name = transaction.transactional_id
        earlier = self._jobs.get(name)
        if earlier is not None and earlier.pause is not None:
            self._timers.cancel(earlier.pause)
        job = self._jobs[name] = _Job(transaction, set(transaction.partitions))
        self._queue(job)

    def _queue(self, job: _Job) -> None:
        job.pause = None
        self._ready.append(job)
        self._event.set()

    # Task

    async def run(
        self, *, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> NoReturn:
        """Write queued markers until cancelled."""
        task_status.started()
        try:
            while True:
                await self._event.wait()
                while self._ready or self._completions:
                    while self._completions:
                        delayed = self._completions.popleft()
                        delayed.purgatory.check(delayed)
                    if self._ready:
                        await self._write(self._ready.popleft())
                    await trio.lowlevel.checkpoint()
                self._event = trio.Event()
        finally:
            self._stop()

    def _stop(self) -> None:
        for job in self._jobs.values():
            if job.pause is not None:
                self._timers.cancel(job.pause)
        self._jobs.clear()
        self._ready.clear()
        for delayed in tuple(self._waiting):
            delayed.purgatory.drop(delayed)

    async def _write(self, job: _Job) -> None:
        transaction = job.transaction
        if self._jobs.get(transaction.transactional_id) is not job:
            return
        if not job.untried:
            job.untried, job.errors = _in_order(job.remaining), set()
        partitions, topics = job.untried[: -_AT_ONCE - 1 : -1], self._image().topics
        del job.untried[-_AT_ONCE:]
        # A partition of a deleted topic needs no marker.
        job.remaining.difference_update([each for each in partitions if each.topic not in topics])
        partitions = [each for each in partitions if each.topic in topics]
        if not partitions:
            self._go_on(job)
            return
        marker = TransactionMarker(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=self._coordinator_epoch(transaction.transactional_id),
            is_commit=transaction.state is TransactionState.PREPARE_COMMIT,
            transaction_version=transaction.client_version,
            partitions=tuple(partitions),
        )
        self._sent += 1
        await self._follow(self._markers.write(marker), job, marker.partitions)

    async def _follow(
        self, result: Eventual[Results], job: _Job, partitions: Iterable[TopicPartition]
    ) -> None:
        """Have the results taken when they are there."""

        def take(results: Results) -> Results:
            self._take(job, results)
            return results

        pending = then(result, take)
        while isinstance(pending, Work):
            done = None
            while done is None:
                done = advance(pending.steps, self._elapsed, self._elapsed() + _SLICE_S)
                await trio.lowlevel.checkpoint()
            pending = done.value
        if isinstance(pending, Delayed):
            self._waiting[pending] = None
            pending.purgatory.watch(
                pending, self._lane, partial(self._finish, job, partitions, pending)
            )

    def _lane(self, delayed: Delayed[object]) -> None:
        self._completions.append(delayed)
        self._event.set()

    def _finish(
        self,
        job: _Job,
        partitions: Iterable[TopicPartition],
        delayed: Delayed[object],
        answer: object,
    ) -> None:
        """Take the end of a wait. Results were taken already; anything else is tried again."""
        self._waiting.pop(delayed, None)
        if not isinstance(answer, Mapping):
            self._take(job, dict.fromkeys(partitions, ErrorCode.REQUEST_TIMED_OUT))

    # Results

    def _take(self, job: _Job, results: Results) -> None:
        name = job.transaction.transactional_id
        if self._jobs.get(name) is not job:
            return
        errors = set(results.values())
        job.errors |= errors
        if errors & _FENCED:
            self._fenced += 1
            _logger.warning("markers fenced", transactional_id=name, errors=_names(errors))
            del self._jobs[name]
            return
        job.remaining.difference_update([each for each, error in results.items() if error in _DONE])
        self._go_on(job)

    def _go_on(self, job: _Job) -> None:
        """Try the next partitions, or those that were refused after a pause, or end the work."""
        if not job.remaining:
            self._end(job)
            return
        if job.untried:
            self._queue(job)
            return
        self._failed += 1
        wait_s = min(FIRST_RETRY_S * 2 ** min(job.failures, 10), LONGEST_RETRY_S)
        job.failures += 1
        if wait_s >= LONGEST_RETRY_S:
            name = job.transaction.transactional_id
            _logger.warning("markers refused", transactional_id=name, errors=_names(job.errors))
        job.pause = self._timers.at(trio.current_time() + wait_s, lambda: self._queue(job))

    def _end(self, job: _Job) -> None:
        del self._jobs[job.transaction.transactional_id]
        self._written(job.transaction)

    @property
    def paused(self) -> int:
        """Transactions whose markers were refused for now, and are tried again after a pause."""
        return sum(job.pause is not None for job in self._jobs.values())

    @property
    def leaderless(self) -> int:
        """Paused transactions with a partition that this broker does not lead."""
        return sum(
            job.pause is not None and not _LED_ELSEWHERE.isdisjoint(job.errors)
            for job in self._jobs.values()
        )

    def figures(self) -> Figures:
        """Figures for the tree."""
        return {
            "transactions": len(self._jobs),
            "ready": len(self._ready),
            "sent": self._sent,
            "refused": self._failed,
            "fenced": self._fenced,
        }


def _names(errors: Iterable[ErrorCode]) -> str:
    return " ".join(sorted(error.name for error in errors))


def _in_order(partitions: set[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions, the first one last. Sorted, so that a seed replays in any process."""
    if len(partitions) > _MOST_SORTED:
        return list(partitions)
    return sorted(partitions, reverse=True)
