"""Sequence numbers of one partition, so that a retry never stores a batch twice. Does no I/O.

Theory of operation. A batch gets its sequence number when it is first sent and keeps it for all
retries: the broker knows by it whether it has the batch. Batches with a number whose end is not
known are *outstanding*, at most five, which is as many as a broker remembers.

A batch that fails leaves a gap: the broker rejects all later numbers, and the number must never be
used for other records, as the failed batch may be stored after all. So after a failure the
partition gets a new epoch, in which numbers begin at 0 (KIP-360). Before that, every outstanding
batch must be decided in its old epoch: a batch that may be stored is retried with its old number
until the broker has it or rejects it for the gap; then it has failed, too. Only batches that are
surely not stored get new numbers. A delayed duplicate of the old epoch is fenced by the broker.

A broker that does not know a producer yet accepts any first number. So until the first batch of a
producer id has been stored, it is sent alone: a second one in flight would be stored in its place.
"""

from typing import Final

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.clients.producer.batch import ProducerBatch, advanced
from trio_kafka.records.batch import ProducerFields

MOST_OUTSTANDING: Final = 5
_LAST_EPOCH: Final = 0x7FFF


@frozen
class Identity:
    """Producer id and epoch."""

    producer_id: int
    epoch: int


@define(eq=False)
class Identities:
    """Identity of a producer. current: None: a new one must be asked for.

    is_local: epochs may be raised without asking; not so with transactions.
    """

    current: Identity | None = None
    is_local: bool = True

    def renewed(self, old: Identity) -> Identity | None:
        """Return an identity that is newer than `old`; None if one must be asked for."""
        current = self.current
        if current is None or current != old or not self.is_local:
            return current if current != old else None
        if old.epoch >= _LAST_EPOCH:
            self.current = None
        else:
            self.current = Identity(old.producer_id, old.epoch + 1)
        return self.current

    def lost(self, old: Identity) -> None:
        """Note that brokers do not accept an identity any more."""
        if self.current is not None and self.current.producer_id == old.producer_id:
            self.current = None


@define(eq=False)
class PartitionSequences:
    """Sequence numbers of a partition.

    outstanding: batches with a number and without an end, in order. has_gap: a batch has failed:
    no new numbers until all outstanding batches are decided.
    """

    identities: Identities
    outstanding: list[ProducerBatch] = field(factory=list, init=False)
    has_gap: bool = field(default=False, init=False)
    identity: Identity | None = field(default=None, init=False)
    _next: int = field(default=0, init=False)
    _has_begun: bool = field(default=False, init=False)  # the broker knows the producer id

    def may_send(self, batch: ProducerBatch) -> bool:
        """Return whether a batch that is not in flight may be sent now."""
        if batch.producer is not None and not batch.needs_sequence:
            return self._first_undecided() is batch
        if self.has_gap:
            self._close_gap()
        if self.has_gap or self._identity() is None:
            return False
        return len(self.outstanding) < (MOST_OUTSTANDING if self._has_begun else 1)

    def number(self, batch: ProducerBatch) -> None:
        """Give a batch that `may_send` its number, unless it has one."""
        if batch.producer is not None and not batch.needs_sequence:
            return
        identity = self._identity()
        if identity is None:
            raise ValueError("no producer id: want `may_send` first")
        batch.stamp(ProducerFields(identity.producer_id, identity.epoch, self._next))
        batch.may_be_stored = False
        self._next = advanced(self._next, batch.count)
        self.outstanding.append(batch)

    def stored(self, batch: ProducerBatch) -> None:
        """Note that a batch is in the log."""
        if batch.producer is not None and self.identity is not None:
            self._has_begun |= batch.producer.producer_id == self.identity.producer_id
        self._remove(batch)

    def failed(self, batch: ProducerBatch) -> None:
        """Note that a batch has failed, or that its time is over."""
        if batch.producer is not None:
            self._remove(batch)
            self.has_gap = True

    def split(self, batch: ProducerBatch) -> None:
        """Note that a batch was replaced by its parts, which have its numbers."""
        if batch in self.outstanding:
            at = self.outstanding.index(batch)
            self.outstanding[at : at + 1] = batch.parts

    def out_of_order(self, batch: ProducerBatch) -> bool:
        """Take the answer that a number is not the next one; return False if the batch has failed.

        True: it is to be retried, with another number if there is a gap before it. A batch that may
        be stored gets no other number: a broker that was restarted knows the latest batch alone,
        and so answers for older ones that it has.
        """
        if self.has_gap:
            batch.needs_sequence = not batch.may_be_stored
            return batch.needs_sequence
        return bool(self.outstanding) and self.outstanding[0] is not batch

    def unknown_producer(self, batch: ProducerBatch) -> bool:
        """Take the answer that the broker has forgotten the producer, as `out_of_order`.

        It has deleted all batches of the producer, so its numbers begin anew.
        """
        self.has_gap = True
        self._has_begun = False
        batch.needs_sequence = not batch.may_be_stored
        return batch.needs_sequence

    def _identity(self) -> Identity | None:
        current = self.identities.current
        if self.outstanding or current == self.identity:
            return self.identity
        # Without transactions, a partition keeps the id in which it has begun.
        if not self.identities.is_local or self.identity is None or not self._next:
            self._adopt(current)
        return self.identity

    def _adopt(self, identity: Identity | None) -> None:
        """Begin with number 0 of an identity."""
        old = self.identity
        if identity is None or old is None or identity.producer_id != old.producer_id:
            self._has_begun = False
        self.identity = identity
        self.outstanding.clear()
        self._next = 0
        self.has_gap = False

    def _first_undecided(self) -> ProducerBatch | None:
        return next((batch for batch in self.outstanding if not batch.needs_sequence), None)

    def _close_gap(self) -> None:
        """Take a new epoch if no outstanding batch is undecided."""
        if self.identity is None or self._first_undecided() is not None:
            return
        identity = self.identities.renewed(self.identity)
        if identity is not None:
            self._adopt(identity)

    def _remove(self, batch: ProducerBatch) -> None:
        if batch in self.outstanding:
            self.outstanding.remove(batch)
