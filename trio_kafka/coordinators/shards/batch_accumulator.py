"""Effects of the events whose records become the shard's next batch.

An event is never split. With a linger the batch is due that long after its first event; without
one the shard decides when to write it. A full batch is written at once. A crash loses the batch,
and with it only what no client was told.
"""

from collections.abc import Callable, Iterable
from typing import Final

import trio
from attrs import field

from trio_kafka.attributes import frozen
from trio_kafka.coordinators.shards.effects import AT_ONCE, Answer, Effects, Ticket
from trio_kafka.coordinators.shards.protocols import OpenBatch, ShardLog
from trio_kafka.errors import InvariantError, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timer, Timers
from trio_kafka.scheduling.deferred_batch import DeferredBatch

ADAPTIVE: Final = -1  # linger: until the end of the round or of the worker's slice
_FULL: Final = 300  # events, records and replies: 1 ms to write and to complete


@frozen
class Batching:
    """Rule for writing a shard's batch. linger_ms: `group.coordinator.append.linger.ms`.

    0 writes the records of each event by themselves. deferred: calls put off to the end of a round
    of the readers, for ADAPTIVE.
    """

    linger_ms: int = ADAPTIVE
    deferred: DeferredBatch = field(factory=DeferredBatch)


class BatchAccumulator:
    """At most one open batch. effects: those in it, in order. is_due: its linger is over."""

    def __init__(
        self, log: ShardLog, timers: Timers, *, linger_ms: int, due: Callable[[], None]
    ) -> None:
        """due: called when the linger of a batch is over; never if `linger_ms` is 0 or less."""
        self.effects: list[Effects] = []
        self.is_due = False
        self._log = log
        self._timers = timers
        self._linger_s = linger_ms / 1000
        self._due = due
        self._batch: OpenBatch | None = None
        self._timer: Timer | None = None
        self._weight = self._batches = 0

    @property
    def is_open(self) -> bool:
        """True if records wait to be written."""
        return self._batch is not None

    @property
    def is_full(self) -> bool:
        """True if the batch must be written before the next event."""
        return self._weight >= _FULL

    def add(self, effects: Effects, now_ms: int) -> bool:
        """Take the effects of one event; return False if nothing was taken.

        Nothing is taken if the effects are too many for one slice, or if the batch has no room for
        the records. An event without records is taken only if a batch is open.
        Raises KafkaError: the log accepts no records now, or never these.
        """
        records, answers = effects.records, effects.answers
        if len(records) > AT_ONCE or len(answers) > AT_ONCE:
            return False
        batch = self._batch
        if records:
            opened = self._log.open() if batch is None else batch
            if not opened.add(records, now_ms):
                return False
            if batch is None:
                self._batch = opened
                if self._linger_s > 0:
                    due_at = trio.current_time() + self._linger_s
                    self._timer = self._timers.at(due_at, self._linger_over)
        elif batch is None:
            return False
        if records or answers or effects.committed is not None:
            self.effects.append(effects)
            self._weight += len(records) + len(answers) + 1
        return True

    def write(self, now_ms: int) -> object:
        """Write the open batch, see `OpenBatch.append`. It is closed even if it is refused."""
        batch = self._batch
        if batch is None:
            raise InvariantError("no batch is open")
        self.drop()
        written = batch.append(now_ms)
        self._batches += 1
        return written

    def drop(self) -> None:
        """Discard the open batch, if there is one."""
        if self._timer is not None:
            self._timers.cancel(self._timer)
        self._batch = self._timer = None
        self.effects, self._weight, self.is_due = [], 0, False

    def close(self) -> None:
        """Discard the open batch for good, and break the cycle with the owner."""
        self.drop()
        self._due = _ignore

    def _linger_over(self) -> None:
        self._timer, self.is_due = None, True
        self._due()

    def figures(self) -> Figures:
        """Figures for the tree. open: records that are not written yet."""
        return {
            "open": 0 if self._batch is None else len(self._batch),
            "batches": self._batches,
        }


def _ignore() -> None:
    """Receive the end of a linger after `close`."""


def loss_replies(
    effects: Iterable[Effects], error: KafkaError, now_ms: int
) -> dict[Ticket, object]:
    """Return the replies of a refused batch. The first event that answers a ticket decides."""
    replies: dict[Ticket, object] = {}
    for of_event in effects:
        answers: list[Answer] = [(ticket, error) for ticket, _ in of_event.answers]
        if of_event.refused is not None:
            answers = of_event.refused(error, now_ms).answers
        for ticket, answer in answers:
            replies.setdefault(ticket, answer)
    return replies
