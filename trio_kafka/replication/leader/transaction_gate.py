"""Gate before a transactional append: the transaction coordinator admits the partitions, or not.

Without it a late batch could begin a transaction that nothing ends. Replication knows the gate only
by this protocol; the transaction coordinator implements it. `Admission` asks it for one request.
Source: KIP-890, Kafka's AddPartitionsToTxnManager and ReplicaManager.handleProduceAppend.
"""

from collections.abc import Mapping
from typing import Final, Protocol

from attrs import field

from trio_kafka.attributes import define, frozen
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.transaction_checks import begin_verification
from trio_kafka.log.verification import OPEN, UNVERIFIED, Guard, Producing
from trio_kafka.model import TopicPartition
from trio_kafka.pending import Eventual, then
from trio_kafka.records.header import HEADER_SIZE, NO_PRODUCER_ID, read_header
from trio_kafka.records.validate import is_transactional
from trio_kafka.replication.partition import Partition


class NotAdmittedError(KafkaError):
    """A batch of a transaction is rejected before its append is tried."""


@frozen(kw_only=True)
class TransactionAsk:
    """Question of one producer's request, about all partitions that need an answer.

    adds: add the partitions to the transaction (transaction version 2); else verify that they are
        in it. knows_generic_errors: whether the client knows TRANSACTION_ABORTABLE.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    adds: bool
    knows_generic_errors: bool


class TransactionGate(Protocol):
    """Coordinator of transactions, as the leader of a partition sees it."""

    def admit(self, ask: TransactionAsk) -> Eventual[Mapping[TopicPartition, ErrorCode]]:
        """Return the partitions that must not be appended to, with the coordinator's own error.

        The verdict waits for the commit of the record that it rests on. Never raises KafkaError:
        an error of the whole question is the error of each partition.
        """


_UNASKED: Final = frozenset({OPEN, UNVERIFIED})
# Errors of the coordinator that a client of Produce retries as if replicas were missing: older ones
# do not know that Produce may have them.
_RETRIED: Final = frozenset(
    {
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)


def admission_error(code: ErrorCode, *, knows_generic_errors: bool) -> ErrorCode:
    """Return the error of a batch or of offsets that the coordinator has not admitted."""
    if code is ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH  # the other one is fatal to the client
    if code is ErrorCode.TRANSACTION_ABORTABLE and not knows_generic_errors:
        return ErrorCode.INVALID_TXN_STATE
    return code


def offsets_error(code: ErrorCode, *, knows_generic_errors: bool) -> KafkaError:
    """Return the error of offsets that the coordinator has not admitted."""
    if code is ErrorCode.NETWORK_EXCEPTION:
        return KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "not verified, retry")
    code = admission_error(code, knows_generic_errors=knows_generic_errors)
    return KafkaError(code, "the group's offsets are not part of the transaction")


def produce_error(code: ErrorCode, *, adds: bool, knows_generic_errors: bool) -> NotAdmittedError:
    """Return the error of a batch that the coordinator has not admitted."""
    if code in _RETRIED and not (adds and code is ErrorCode.CONCURRENT_TRANSACTIONS):
        message = f"the transaction is not verified, retry: {code.name}"
        return NotAdmittedError(ErrorCode.NOT_ENOUGH_REPLICAS, message)
    code = admission_error(code, knows_generic_errors=knows_generic_errors)
    return NotAdmittedError(code, "the partition is not part of the transaction")


@define(eq=False)
class Admissions:
    """Admissions of this broker. gate: set while a transaction coordinator serves; without it every
    transactional batch is rejected. verifies: `transaction.partition.verification.enable`.
    """

    gate: TransactionGate | None = None
    verifies: bool = True

    def begin(
        self, transactional_id: str | None, *, adds: bool, knows_generic_errors: bool
    ) -> "Admission | None":
        """Return the admission of a request; None if it can have no transactional batch."""
        if transactional_id is None or self.gate is None:
            return None
        return Admission(
            self.gate,
            transactional_id,
            adds,
            knows_generic_errors,
            verifies=adds or self.verifies,
        )


@define(eq=False)
class Admission:
    """Admission of the transactional batches of one request.

    gate: of the broker. adds, knows_generic_errors: see `TransactionAsk`. verifies: False: batches
    are appended unverified; never for the new protocol, which adds them to the transaction.
    """

    gate: TransactionGate
    transactional_id: str
    adds: bool
    knows_generic_errors: bool
    verifies: bool = True
    _batches: dict[TopicPartition, tuple[Partition, Producing]] = field(factory=dict, init=False)
    _guards: dict[TopicPartition, Guard] = field(factory=dict, init=False)
    _errors: Mapping[TopicPartition, ErrorCode] = field(factory=dict, init=False)
    _fenced: dict[TopicPartition, NotAdmittedError] = field(factory=dict, init=False)
    _producer: tuple[int, int] | None = field(default=None, init=False)

    def begin(self, partition: Partition | None, records: memoryview | None) -> None:
        """Begin the verification of records that may be a transactional batch.

        What the append rejects anyway is not verified: invalid records, a partition that is led
        elsewhere.
        Raises KafkaError(INVALID_PRODUCER_ID_MAPPING) if batches of a request have two producers.
        """
        if partition is None or records is None or len(records) < HEADER_SIZE:
            return
        if is_transactional(records):
            header = read_header(records)
            if header.producer_id != NO_PRODUCER_ID:
                self.begin_batch(partition, header)

    def begin_batch(self, partition: Partition, header: Producing) -> None:
        """Begin the verification of a batch of which only the producer is known yet."""
        if partition.leading is None:
            return
        producer = (header.producer_id, header.producer_epoch)
        if self._producer is None:
            self._producer = producer
        elif self._producer != producer:
            message = f"producers {self._producer} and {producer} in one request, want one"
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING, message)
        self._batches[partition.at] = (partition, header)
        self._draw(partition, header)

    def _draw(self, partition: Partition, header: Producing) -> None:
        """Draw the guard of a partition, none if it is led elsewhere by now.

        The log fences a batch of an older epoch, so the coordinator is not asked about it. Other
        batches of the request go on.
        """
        self._guards.pop(partition.at, None)
        self._fenced.pop(partition.at, None)
        log = partition.leading
        if not self.verifies:
            self._guards[partition.at] = UNVERIFIED
        elif log is not None:
            try:
                self._guards[partition.at] = begin_verification(
                    log.producers, header, log.now_ms(), bumps_epoch=self.adds
                )
            except KafkaError as error:
                self._fenced[partition.at] = NotAdmittedError(error.code, error.message)

    def ask(self) -> Eventual[None]:
        """Ask the coordinator about all partitions whose transaction is not open here."""
        partitions = tuple(at for at, guard in self._guards.items() if guard not in _UNASKED)
        if not partitions or self._producer is None:
            return None
        producer_id, epoch = self._producer
        question = TransactionAsk(
            transactional_id=self.transactional_id,
            producer_id=producer_id,
            producer_epoch=epoch,
            partitions=partitions,
            adds=self.adds,
            knows_generic_errors=self.knows_generic_errors,
        )
        return then(self.gate.admit(question), self._take)

    def _take(self, errors: Mapping[TopicPartition, ErrorCode]) -> Eventual[None]:
        self._errors = errors
        return self.ask() if self.adds and self._redraw() else None

    def _redraw(self) -> bool:
        """Draw guards again that the markers of the transaction before have ended, and return
        whether there were any.

        The first request of a transaction waits for these markers in the coordinator. What is added
        is admitted by its epoch, so a late batch is not: it would be by a partition that is only
        verified.
        """
        ended = [
            at
            for at, guard in self._guards.items()
            if guard not in _UNASKED
            and not self._errors.get(at)
            and not self._is_current(at, guard)
        ]
        for at in ended:
            self._draw(*self._batches[at])
        return bool(ended)

    def _is_current(self, at: TopicPartition, guard: Guard) -> bool:
        partition, header = self._batches[at]
        log = partition.leading
        if log is None:  # the append rejects the batch
            return True
        verification = log.producers.verifications.get(header.producer_id)
        return verification is not None and verification.guard is guard

    def guard(self, at: TopicPartition) -> Guard | None:
        """Return the guard of a partition; None: it has no transactional batch.

        Raises KafkaError: see `produce_error`, if the coordinator has not admitted it;
        INVALID_PRODUCER_EPOCH.
        """
        self._check_fence(at)
        code = self._errors.get(at)
        if code:
            raise produce_error(
                code, adds=self.adds, knows_generic_errors=self.knows_generic_errors
            )
        return self._guards.get(at)

    def _check_fence(self, at: TopicPartition) -> None:
        error = self._fenced.get(at)
        if error is not None:
            raise error

    def offsets_guard(self, at: TopicPartition) -> Guard:
        """Return the guard of offsets, in their partition of `__consumer_offsets`.

        Raises KafkaError: see `offsets_error`; INVALID_PRODUCER_EPOCH; NOT_COORDINATOR if another
        broker leads it.
        """
        self._check_fence(at)
        code = self._errors.get(at)
        if code:
            raise offsets_error(code, knows_generic_errors=self.knows_generic_errors)
        guard = self._guards.get(at)
        if guard is None:
            raise KafkaError(ErrorCode.NOT_COORDINATOR)
        return guard
