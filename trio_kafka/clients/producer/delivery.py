"""Ends of attempts: what becomes of each batch, and what its records are told. Does no I/O."""

from collections.abc import Callable
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import (
    AbortableError,
    ClientError,
    ClosedError,
    FatalError,
    Place,
    RetriableError,
    TimedOutError,
    client_error,
)
from trio_kafka.clients.producer.accumulator import Accumulator
from trio_kafka.clients.producer.answers import Verdict, is_rejected, verdict
from trio_kafka.clients.producer.batch import Failed, ProducerBatch, Stored
from trio_kafka.clients.producer.requests import ProduceAnswer
from trio_kafka.clients.producer.sequences import Identity
from trio_kafka.errors import ErrorCode
from trio_kafka.peers.backoff import Backoff

# The identity of the producer is of no more use.
_IDENTITY_LOST: Final = frozenset(
    {
        ErrorCode.INVALID_PRODUCER_EPOCH,
        ErrorCode.PRODUCER_FENCED,
        ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    }
)


def _ignore(error: ClientError) -> None:
    del error


def _never() -> bool:
    return False


@define(eq=False, kw_only=True)
class Delivery:
    """Decides about batches after each attempt.

    retries: attempts after the first one. backoff: pauses before them.
    chance: returns random numbers from 0 to 1. fatal: error after which nothing is sent.
    failed: called with each batch that has failed, before its records learn of it.
    gives_up: returns whether nothing is retried, as the transaction will be aborted.
    """

    accumulator: Accumulator
    retries: int
    backoff: Backoff
    chance: Callable[[], float]
    failed: Callable[[ClientError], None] = _ignore
    gives_up: Callable[[], bool] = _never
    fatal: FatalError | None = field(default=None, init=False)

    def answered(
        self, batch: ProducerBatch, answer: ProduceAnswer, now: float, *, broker: str | None
    ) -> bool:
        """Take the answer for a batch; return whether the metadata may be wrong."""
        if self.accumulator.landed(batch):
            self._take(batch, answer, now, broker)
        return answer.code.refreshes_metadata

    def unanswered(self, batch: ProducerBatch) -> None:
        """Note that a batch was sent that has no answer (acks=0)."""
        if self.accumulator.landed(batch):
            self.accumulator.finish(batch, Stored())

    def lost(self, batch: ProducerBatch, error: ClientError, now: float) -> None:
        """Take the failure of the request of a batch."""
        if not self.accumulator.landed(batch):
            return
        batch.may_be_stored = batch.may_be_stored or error.sent
        if isinstance(error, RetriableError) and self._may_retry(batch):
            self._retry(batch, now)
            return
        failure = type(error)(
            error.message,
            place=_place(batch, error.broker),
            code=error.code,
            sent=batch.may_be_stored,
        )
        self._fail(batch, failure)

    def expire(self, now: float, failure: ClientError | None = None) -> None:
        """Fail the batches whose time is over. failure: why nothing could be sent, if so."""
        for batch in self.accumulator.expired(now):
            reason = f"not acknowledged within {batch.expires - batch.created:g} s"
            if failure is not None and not batch.attempts:
                reason = f"{reason}; the last failure: {failure}"
            error = TimedOutError(reason, place=_place(batch), sent=_is_sent(batch))
            self._fail(batch, error)

    def fail_all(self, error: FatalError | None = None) -> None:
        """Fail all batches. error: after which the producer is of no use; None: it is closed."""
        if error is not None:
            self.fatal = error

        def error_of(batch: ProducerBatch) -> ClientError:
            sent = _is_sent(batch)
            if error is None:
                return ClosedError("the producer was closed", place=_place(batch), sent=sent)
            return type(error)(error.message, place=_place(batch), code=error.code, sent=sent)

        self.accumulator.fail_all(error_of)

    def fail_waiting(self, reason: str) -> None:
        """Fail the batches that are not in flight, as their transaction is aborted."""

        def error_of(batch: ProducerBatch) -> ClientError:
            error = AbortableError(reason, place=_place(batch), sent=_is_sent(batch))
            if batch.producer is not None:  # its number leaves a gap
                self.failed(error)
            return error

        self.accumulator.fail_waiting(error_of)

    def _take(
        self, batch: ProducerBatch, answer: ProduceAnswer, now: float, broker: str | None
    ) -> None:
        code = answer.code
        decision = verdict(code, batch)
        if decision is Verdict.STORED:
            # The answer to a duplicate may have no offset, or another batch's.
            offset = -1 if code else answer.base_offset
            self.accumulator.finish(batch, Stored(base_offset=offset, append_ms=answer.append_ms))
            return
        if not is_rejected(code):
            batch.may_be_stored = True
        if decision is Verdict.SPLIT:
            self.accumulator.split(batch, now)
            return
        if self._retries(decision, batch) and self._may_retry(batch):
            self._retry(batch, now)
            return
        identities = self.accumulator.identities
        is_local = identities is not None and identities.is_local
        if code in _IDENTITY_LOST and is_local and identities and batch.producer is not None:
            identities.lost(Identity(batch.producer.producer_id, batch.producer.producer_epoch))
        place = _place(batch, broker)
        error = client_error(code, answer.message, place=place, sent=batch.may_be_stored)
        self._fail(batch, error)

    def _fail(self, batch: ProducerBatch, error: ClientError) -> None:
        self.failed(error)
        self.accumulator.finish(batch, Failed(error=error))

    def _retries(self, decision: Verdict, batch: ProducerBatch) -> bool:
        sequences = self.accumulator.sequences_of(batch)
        if sequences is not None and decision is Verdict.OUT_OF_ORDER:
            return sequences.out_of_order(batch)
        if sequences is not None and decision is Verdict.UNKNOWN_PRODUCER:
            return sequences.unknown_producer(batch)
        return decision is Verdict.RETRY

    def _may_retry(self, batch: ProducerBatch) -> bool:
        return batch.attempts <= self.retries and self.fatal is None and not self.gives_up()

    def _retry(self, batch: ProducerBatch, now: float) -> None:
        pause_s = self.backoff.pause_s(batch.attempts, self.chance())
        self.accumulator.retry(batch, now + pause_s)


def _is_sent(batch: ProducerBatch) -> bool:
    return batch.in_flight or batch.may_be_stored


def _place(batch: ProducerBatch, broker: str | None = None) -> Place:
    return Place(broker=broker, topic=batch.place.topic, partition=batch.place.partition)
