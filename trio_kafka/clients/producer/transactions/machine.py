"""State of the transactions of one producer. Does no I/O.

In the older protocol a partition must be added to the transaction before the first batch is sent to
it. In the newer one (KIP-890, `transaction.version` 2) the broker adds it with the batch, and each
end of a transaction gives the producer a new epoch. In the older one the end of a transaction of
which the broker does not know is a fatal error.
Source: TransactionManager of Apache Kafka 4.4.0.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Final

from attrs import field

from trio_kafka.attributes import define
from trio_kafka.clients.errors import AbortableError, ClientError, Place, TimedOutError
from trio_kafka.clients.producer.sequences import Identities, Identity
from trio_kafka.model import TopicPartition


class TransactionState(Enum):
    """State of a transactional producer. UNKNOWN: without an id, or with one of unknown state."""

    UNKNOWN = "unknown"
    READY = "ready"
    OPEN = "open"
    FAILED = "failed"
    ENDING = "ending"


S: Final = TransactionState
_NEXT: Final = {
    (S.UNKNOWN, S.READY),
    (S.READY, S.OPEN),
    (S.OPEN, S.FAILED),
    (S.OPEN, S.ENDING),
    (S.FAILED, S.ENDING),
    (S.ENDING, S.READY),
    (S.ENDING, S.UNKNOWN),
}


@define(eq=False, kw_only=True)
class TransactionMachine:
    """Transactions of one `transactional.id`, one after the other.

    identities: shared with the sequence numbers. is_new_protocol: of the transaction that is open.
    failure: why the open transaction can only be aborted. to_add: partitions of batches that must
    be added first (older protocol). has_gap: a batch failed: the epoch must be renewed after it.
    is_begun: the broker knows of the transaction; in the newer protocol, it may.
    """

    transactional_id: str
    identities: Identities
    is_new_protocol: bool = field(default=False, init=False)
    state: TransactionState = field(default=TransactionState.UNKNOWN, init=False)
    failure: ClientError | None = field(default=None, init=False)
    to_add: set[TopicPartition] = field(factory=set, init=False)
    has_gap: bool = field(default=False, init=False)
    _added: set[TopicPartition] = field(factory=set, init=False)
    is_begun: bool = field(default=False, init=False)
    _unanswered: int = field(default=0, init=False)  # additions

    @property
    def may_be_begun(self) -> bool:
        """True if an addition had no answer, so that it is not known whether the broker knows."""
        return not self.is_begun and self._unanswered > 0

    def identified(self, identity: Identity) -> None:
        """Take the id and the epoch with which transactions can begin."""
        self._enter(TransactionState.READY)
        self.identities.current = identity

    def begin(self, *, is_new_protocol: bool) -> None:
        """Begin a transaction. Raises ValueError in another state than READY."""
        self._enter(TransactionState.OPEN)
        self.is_new_protocol = is_new_protocol
        self.failure = None
        self.has_gap = self.is_begun = False
        self._unanswered = 0
        self._added.clear()
        self.to_add.clear()

    def check_open(self) -> None:
        """Raise an error unless records may be sent."""
        if self.failure is not None and self.state is TransactionState.FAILED:
            raise AbortableError(f"the transaction has failed: {self.failure}")
        if self.state is not TransactionState.OPEN:
            raise ClientError("no transaction is open: want `async with producer.transaction()`")

    def admits(self, place: TopicPartition) -> bool:
        """Return whether batches may be sent to a partition; if not, it is to be added."""
        is_open = self.state in {TransactionState.OPEN, TransactionState.ENDING}
        if not is_open or self.failure is not None:
            return False
        if self.is_new_protocol or place in self._added:
            self.is_begun = True
            return True
        self.to_add.add(place)
        return False

    @contextmanager
    def adding(self) -> Iterator[None]:
        """Note the outcome of the block, which adds partitions or a group to the transaction."""
        self._unanswered += 1
        try:
            yield
        except ClientError as error:
            if not error.sent and not isinstance(error, TimedOutError):
                self._unanswered -= 1
            raise
        self._unanswered -= 1
        self.is_begun = True

    def added(self, places: set[TopicPartition]) -> None:
        """Note that partitions are part of the transaction."""
        self._added |= places
        self.to_add -= places
        self.is_begun = True

    def offsets_sent(self) -> None:
        """Note that the coordinator may know of the transaction."""
        self.is_begun = True

    def fail(self, error: ClientError) -> None:
        """Note that the open transaction can only be aborted."""
        if self.state is TransactionState.OPEN:
            self.failure = error
            self._enter(TransactionState.FAILED)
        elif self.state is TransactionState.ENDING and self.failure is None:
            self.failure = error
        self.to_add.clear()

    def batch_failed(self, error: ClientError) -> None:
        """Note that a batch of the transaction has failed."""
        self.has_gap = True
        self.fail(error)

    def begin_end(self) -> None:
        """Accept no more records: the transaction ends when all are stored or have failed."""
        if self.state is not TransactionState.ENDING:
            self._enter(TransactionState.ENDING)

    def ended(self, identity: Identity | None) -> None:
        """Note the end of the transaction. identity: for the next one; None: the same.

        A gap in the sequence numbers, in the older protocol, needs a new epoch.
        """
        if identity is not None:
            self.identities.current = identity
            self._enter(TransactionState.READY)
        elif self.has_gap:
            self.lost()
        else:
            self._enter(TransactionState.READY)

    def lost(self) -> None:
        """Note that it is not known how the transaction ended: a new epoch is needed."""
        self._enter(TransactionState.UNKNOWN)

    def _enter(self, state: TransactionState) -> None:
        if (self.state, state) not in _NEXT:
            raise ValueError(f"{self.transactional_id}: from {self.state.value} to {state.value}")
        self.state = state


def unknown_end(transactional_id: str, cause: ClientError) -> TimedOutError:
    """Return the error for a commit whose answer is not known."""
    reason = f"{transactional_id}: it is not known whether the transaction is committed: {cause}"
    return TimedOutError(reason, place=Place(broker=cause.broker), sent=True)
