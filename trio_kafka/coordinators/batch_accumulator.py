"""What a shard gathers: events whose records are replayed, and written together a little later.

Whoever such an event answers waits for the batch, and so does whoever is answered behind it. With a
linger a batch is written so long after its first event; without one whoever has it opened has it
written in the same turn. One that is full is written at once. Power that is lost takes the batch,
and with it what nobody was told.
"""

from collections.abc import Callable, Iterable
from typing import Any, Final

import trio

from trio_kafka.coordinators.effects import AT_ONCE, Effects, Ticket
from trio_kafka.coordinators.protocols import OpenBatch, ShardLog
from trio_kafka.errors import InvariantError, KafkaError
from trio_kafka.introspect.tree import Figures
from trio_kafka.purgatory import Timer, Timers

ADAPTIVE: Final = -1  # the linger of who gathers what has queued up
_FULL: Final = 300  # events, their records and their answers: to write and to tell them takes 1 ms


class BatchAccumulator:
    """At most one open batch. effects: of its events, in order. is_due: its linger is over.
    writers: how many of the events have records.
    """

    def __init__(
        self,
        log: ShardLog,
        timers: Timers,
        linger_s: float = 0.0,
        due: Callable[[], None] | None = None,
    ) -> None:
        """due: have it written soon, as its linger is over; None: whoever adds sees to that."""
        self.effects: list[Effects] = []
        self.is_due = False
        self.writers = 0
        self._log = log
        self._timers = timers
        self._linger_s = linger_s
        self._due = due
        self._batch: OpenBatch | None = None
        self._timer: Timer | None = None
        self._weight = self._batches = self._records = 0

    @property
    def is_open(self) -> bool:
        """Something waits to be written."""
        return self._batch is not None

    @property
    def is_full(self) -> bool:
        """It is to be written before anything else is done."""
        return self._weight >= _FULL

    def add(self, effects: Effects, now_ms: int) -> bool:
        """Take in what follows from an event; its records are to be replayed next.

        False: nothing was taken in, as there is too much of it for one turn, or no room for its
        records in this batch, or nothing that it would have to wait for. Raises KafkaError: the log
        takes nothing now.
        """
        records, answers = effects.records, effects.answers
        if len(records) > AT_ONCE or len(answers) > AT_ONCE:
            return False
        if records:
            if not self._add(effects, now_ms):
                return False
            self.writers += 1
        elif self._batch is None:
            return False
        if records or answers or effects.committed is not None:
            self.effects.append(effects)
            self._weight += len(records) + len(answers) + 1
        return True

    def _add(self, effects: Effects, now_ms: int) -> bool:
        batch = self._batch
        if batch is not None:
            return batch.add(effects.records, now_ms)
        batch = self._log.open()
        if not batch.add(effects.records, now_ms):
            return False
        self._batch = batch
        if self._due is not None:
            self._timer = self._timers.at(trio.current_time() + self._linger_s, self._ring)
        return True

    def write(self, now_ms: int) -> Any:
        """Write what is open: as `ShardLog.append`. Nothing is open then, even if it is refused."""
        batch = self._batch
        if batch is None:
            raise InvariantError("nothing is gathered")
        self.drop()
        written = batch.append(now_ms)
        self._batches += 1
        self._records += len(batch)
        return written

    def drop(self) -> None:
        """Forget what is open, if anything is."""
        if self._timer is not None:
            self._timers.cancel(self._timer)
        self._batch = self._timer = None
        self.effects, self._weight, self.writers, self.is_due = [], 0, 0, False

    def close(self) -> None:
        """As `drop`, for good: whoever was to be told is forgotten, as it knows this one."""
        self.drop()
        self._due = None

    def _ring(self) -> None:
        self._timer, self.is_due = None, True
        if self._due is not None:
            self._due()

    def figures(self) -> Figures:
        """For the tree. open: records that are not written yet; gathered: those that were."""
        return {
            "open": 0 if self._batch is None else len(self._batch),
            "batches": self._batches,
            "gathered": self._records,
        }


def told_of_loss(effects: Iterable[Effects], error: KafkaError, now_ms: int) -> dict[Ticket, Any]:
    """What whoever waited for a batch is told that was refused. Who has been answered by two events
    of the batch is told what the first one makes of it.
    """
    told: dict[Ticket, Any] = {}
    for one in effects:
        if one.refused is None:
            answers = [(ticket, error) for ticket, _ in one.answers]
        else:
            answers = one.refused(error, now_ms).answers
        for ticket, answer in answers:
            told.setdefault(ticket, answer)
    return told
