"""Verification of transactional batches: proof that the coordinator knows of the transaction. Pure.

The first batch of a transaction in a partition needs a Guard. It is drawn before the transaction
coordinator is asked, and its batch is accepted only if neither a batch nor a marker of that
producer was appended in between. Otherwise a late answer for an ended transaction could admit a
batch to the next one, and begin a transaction that nothing ends.
Source: KIP-890; Kafka's VerificationStateEntry, UnifiedLog.batchMissingRequiredVerification.
"""

from collections import OrderedDict
from typing import Final, TypeAlias

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.records.batch import ProducerFields
from trio_kafka.records.header import BatchHeader

Producing: TypeAlias = BatchHeader | ProducerFields  # both name the producer and the sequence
MOST: Final = 10_000  # producers of one partition that are being verified


class Guard:
    """Token of a verification; compared by identity."""

    __slots__ = ()


OPEN: Final = Guard()  # the transaction was open here already: it must still be
UNVERIFIED: Final = Guard()  # `transaction.partition.verification.enable` is false


@define(eq=False, kw_only=True)
class Verification:
    """Verification of one producer, shared by its batches in flight.

    lowest_sequence: the first batch of the transaction must not skip a sequence that is in flight.
    bumps_epoch: the producer gets a new epoch with each transaction (transaction version 2).
    """

    guard: Guard = field(factory=Guard)
    epoch: int
    lowest_sequence: int
    bumps_epoch: bool
    since_ms: int


@define(eq=False)
class Verifications:
    """Verifications of one partition by producer id, from the oldest. The oldest one of more than
    `MOST` is forgotten: its batch is rejected then.
    """

    _by_producer: OrderedDict[int, Verification] = field(factory=OrderedDict, init=False)

    def __len__(self) -> int:
        return len(self._by_producer)

    def begin(self, batch: Producing, now_ms: int, *, bumps_epoch: bool) -> Guard:
        """Return the guard of a batch whose transaction is not open here."""
        verification = self._by_producer.get(batch.producer_id)
        epoch, sequence = batch.producer_epoch, batch.base_sequence
        if verification is None:
            verification = self._by_producer[batch.producer_id] = Verification(
                epoch=epoch, lowest_sequence=sequence, bumps_epoch=bumps_epoch, since_ms=now_ms
            )
            if len(self._by_producer) > MOST:
                self._by_producer.popitem(last=False)
        elif epoch > verification.epoch:
            verification.epoch, verification.lowest_sequence = epoch, sequence
        elif epoch == verification.epoch:
            verification.lowest_sequence = min(verification.lowest_sequence, sequence)
        return verification.guard

    def get(self, producer_id: int) -> Verification | None:
        """Return the verification of a producer."""
        return self._by_producer.get(producer_id)

    def end(self, producer_id: int) -> None:
        """End the verification of a producer: a batch or a marker was appended. Idempotent."""
        if self._by_producer:
            self._by_producer.pop(producer_id, None)

    def expire(self, before_ms: int) -> None:
        """Forget verifications that began at `before_ms` or earlier."""
        while self._by_producer:
            producer_id, oldest = next(iter(self._by_producer.items()))
            if oldest.since_ms > before_ms:
                return
            del self._by_producer[producer_id]

    def clear(self) -> None:
        """Forget all."""
        self._by_producer.clear()
