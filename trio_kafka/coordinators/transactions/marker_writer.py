"""Writes the markers of prepared transactions, and tells the coordinator when all are written.

A transaction is queued by its id, so the queue is bounded by the number of ids. A partition whose
marker is refused for now is tried again after a pause; one whose topic was deleted needs none. A
marker that is refused for good (a newer coordinator has written) ends the work on the transaction.
Source: TransactionMarkerChannelManager of Apache Kafka 4.4.0.
"""

from collections import deque
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final, NoReturn

import trio

from trio_kafka.attributes import define
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
_DONE: Final = frozenset({ErrorCode.NONE, ErrorCode.UNSUPPORTED_FOR_MESSAGE_FORMAT})
_FENCED: Final = frozenset(
    {ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED}
)
_logger: Final = get_logger(__name__)
Results = Mapping[TopicPartition, ErrorCode]


@define(eq=False)
class _Job:
    """Markers of one transaction. remaining: partitions that have none yet."""

    transaction: Transaction
    remaining: frozenset[TopicPartition]
    failures: int = 0
    pause: Timer | None = None


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
        self._completions: deque[Delayed[Any]] = deque()
        self._waiting: dict[Delayed[Any], None] = {}
        self._event = trio.Event()
        self._sent = self._failed = self._fenced = 0

    def send(self, transaction: Transaction) -> None:
        """Have the markers of a prepared transaction written. Replaces earlier work on its id."""
        name = transaction.transactional_id
        earlier = self._jobs.get(name)
        if earlier is not None and earlier.pause is not None:
            self._timers.cancel(earlier.pause)
        job = self._jobs[name] = _Job(transaction, transaction.partitions)
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
        topics = self._image().topics
        # A partition of a deleted topic needs no marker.
        job.remaining = frozenset(each for each in job.remaining if each.topic in topics)
        if not job.remaining:
            self._end(job)
            return
        marker = TransactionMarker(
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=self._coordinator_epoch(transaction.transactional_id),
            is_commit=transaction.state is TransactionState.PREPARE_COMMIT,
            transaction_version=transaction.client_version,
            partitions=tuple(job.remaining),
        )
        self._sent += 1
        await self._follow(self._markers.write(marker), job)

    async def _follow(self, result: Eventual[Results], job: _Job) -> None:
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
            pending.purgatory.watch(pending, self._lane, partial(self._finish, job, pending))

    def _lane(self, delayed: Delayed[Any]) -> None:
        self._completions.append(delayed)
        self._event.set()

    def _finish(self, job: _Job, delayed: Delayed[Any], answer: object) -> None:
        """Take the end of a wait. Results were taken already; anything else is tried again."""
        self._waiting.pop(delayed, None)
        if not isinstance(answer, Mapping):
            self._take(job, dict.fromkeys(job.remaining, ErrorCode.REQUEST_TIMED_OUT))

    # Results

    def _take(self, job: _Job, results: Results) -> None:
        name = job.transaction.transactional_id
        if self._jobs.get(name) is not job:
            return
        errors = set(results.values())
        if errors & _FENCED:
            self._fenced += 1
            _logger.warning("markers fenced", transactional_id=name, errors=_names(errors))
            del self._jobs[name]
            return
        written = {each for each, error in results.items() if error in _DONE}
        job.remaining -= written
        if not job.remaining:
            self._end(job)
            return
        self._failed += 1
        wait_s = min(FIRST_RETRY_S * 2 ** min(job.failures, 10), LONGEST_RETRY_S)
        job.failures += 1
        if wait_s >= LONGEST_RETRY_S:
            _logger.warning("markers refused", transactional_id=name, errors=_names(errors))
        job.pause = self._timers.at(trio.current_time() + wait_s, lambda: self._queue(job))

    def _end(self, job: _Job) -> None:
        del self._jobs[job.transaction.transactional_id]
        self._written(job.transaction)

    def figures(self) -> Figures:
        """Figures for the tree."""
        return {
            "transactions": len(self._jobs),
            "ready": len(self._ready),
            "sent": self._sent,
            "refused": self._failed,
            "fenced": self._fenced,
        }


def _names(errors: set[ErrorCode]) -> str:
    return " ".join(sorted(error.name for error in errors))
