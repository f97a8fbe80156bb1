"""Batches of one partition: those that wait, in order, and those in flight. Does no I/O."""

from bisect import insort
from collections import deque
from itertools import chain, takewhile
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.producer.batch import ProducerBatch
from trio_kafka.clients.producer.sequences import PartitionSequences
from trio_kafka.model import TopicPartition

_NEVER: Final = float("inf")


@define(eq=False, kw_only=True)
class PartitionQueue:
    """A queue. sequences: None without idempotence. in_turn: at most one batch is in flight.

    waiting: by their order; only the last one takes records. in_flight: also those whose time is
    over, until the broker answers. turn: number of the request that has last taken a batch.
    """

    place: TopicPartition
    sequences: PartitionSequences | None
    in_turn: bool
    waiting: deque[ProducerBatch] = field(factory=deque, init=False)
    in_flight: list[ProducerBatch] = field(factory=list, init=False)
    turn: int = field(default=0, init=False)

    @property
    def is_empty(self) -> bool:
        return not self.waiting and not self.in_flight

    def next_batch(self) -> ProducerBatch | None:
        """Return the batch that may be sent next; None: there is none, or it must wait."""
        if not self.waiting or (self.in_turn and self.in_flight):
            return None
        sequences = self.sequences
        if sequences is None:
            return self.waiting[0]
        batch = self._undecided() if sequences.has_gap else self.waiting[0]
        return batch if sequences.may_send(batch) else None

    def take(self, batch: ProducerBatch) -> None:
        """Move a batch into flight."""
        if self.waiting[0] is batch:
            self.waiting.popleft()
        else:
            self.waiting.remove(batch)
        batch.is_full = batch.in_flight = True
        batch.attempts += 1
        if self.sequences is not None:
            self.sequences.number(batch)
        self.in_flight.append(batch)

    def landed(self, batch: ProducerBatch) -> None:
        """Move a batch out of flight: its attempt has ended."""
        batch.in_flight = False
        self.in_flight.remove(batch)

    def put_back(self, *batches: ProducerBatch) -> None:
        """Let batches wait again, in their order among those that wait."""
        ordered = list(self.waiting)
        for batch in batches:
            insort(ordered, batch, key=lambda queued: queued.order)
        self.waiting = deque(ordered)

    def expired(self, now: float) -> list[ProducerBatch]:
        """Return the batches whose time is over, without an outcome."""
        # Thousands may wait; the first one is the oldest.
        waiting = takewhile(lambda batch: batch.expires <= now, self.waiting)
        batches = chain(self.in_flight, waiting)
        return [batch for batch in batches if batch.expires <= now and batch.outcome is None]

    def next_expiry(self) -> float:
        """Return the earliest time at which the time of a batch is over."""
        expiry = self.waiting[0].expires if self.waiting else _NEVER
        times = [batch.expires for batch in self.in_flight if batch.outcome is None]
        return min([expiry, *times])

    def _undecided(self) -> ProducerBatch:
        """Return the first batch that must be decided before the gap can be closed."""
        for batch in self.waiting:
            if batch.producer is None:
                break
            if not batch.needs_sequence:
                return batch
        return self.waiting[0]
