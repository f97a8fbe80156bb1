"""Checks before a batch or a marker of a transaction is appended by a leader. Pure.

Each is called at the turn of the append, so nothing comes between check and write. Replicas and
recovery take over what a leader has accepted, without checks.
Source: KIP-98, KIP-890; Kafka's ProducerAppendInfo and UnifiedLog.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_state import ProducedBatch, ProducerState
from trio_kafka.log.verification import OPEN, UNVERIFIED, Guard, Producing, Verification
from trio_kafka.records.header import BatchHeader

# Check of the only batch of an append. Returns the batch that it repeats. Raises KafkaError.
AppendCheck: TypeAlias = Callable[[ProducerState, BatchHeader], ProducedBatch | None]
STRICT_MARKERS: Final = 2  # transaction version from which a marker has a new epoch


def begin_verification(
    producers: ProducerState, batch: Producing, now_ms: int, *, bumps_epoch: bool
) -> Guard:
    """Return the guard of a transactional batch; OPEN if its transaction is open here.

    bumps_epoch: see `Verification`. Raises KafkaError(INVALID_PRODUCER_EPOCH).
    """
    _check_epoch(producers, batch)
    if producers.has_open_transaction(batch.producer_id, batch.producer_epoch):
        return OPEN
    return producers.verifications.begin(batch, now_ms, bumps_epoch=bumps_epoch)


def check_verified(
    guard: Guard, producers: ProducerState, header: BatchHeader
) -> ProducedBatch | None:
    """Check a transactional batch that the coordinator has admitted, see `ProducerState.check`.

    Raises KafkaError: as `ProducerState.check`; INVALID_TXN_STATE if its transaction has ended
    since the verification began, without a newer epoch.
    """
    repeated = producers.repeated_by(header)
    if repeated is not None:
        return repeated
    verification = _verification(guard, producers, header)
    producers.check(header)
    if verification is not None:
        sequence, lowest = header.base_sequence, verification.lowest_sequence
        producer = producers.get(header.producer_id)
        if verification.bumps_epoch and (producer is None or not producer.batches):
            lowest = 0
        if sequence > lowest:
            message = f"sequence {sequence} of producer {header.producer_id}, want {lowest} first"
            raise KafkaError(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, message)
    return None


def check_verified_offsets(guard: Guard, producers: ProducerState, header: BatchHeader) -> None:
    """Check offsets of a transaction that the coordinator has admitted.

    The group coordinator writes them for the producer, each time with sequence 0: sequences are not
    checked. Raises KafkaError: INVALID_TXN_STATE, INVALID_PRODUCER_EPOCH.
    """
    _verification(guard, producers, header)


def _verification(
    guard: Guard, producers: ProducerState, header: BatchHeader
) -> Verification | None:
    """Return the verification of a batch; None: its transaction is open, or it needs none.

    Raises KafkaError: INVALID_PRODUCER_EPOCH, INVALID_TXN_STATE.
    """
    _check_epoch(producers, header)
    producer_id = header.producer_id
    if guard is UNVERIFIED:
        return None
    if producers.has_open_transaction(producer_id, header.producer_epoch):
        return None
    verification = producers.verifications.get(producer_id)
    if verification is None or verification.guard is not guard:
        message = f"a batch of producer {producer_id} outside of an open transaction"
        raise KafkaError(ErrorCode.INVALID_TXN_STATE, message)
    return verification


def _check_epoch(producers: ProducerState, batch: Producing) -> None:
    """Raise KafkaError(INVALID_PRODUCER_EPOCH) for an older epoch than the latest of the producer.

    Before a guard is compared: the marker that has raised the epoch has ended the verification
    too, and INVALID_TXN_STATE is fatal to clients. After this error they may abort.
    Source: KAFKA-19690.
    """
    producer = producers.get(batch.producer_id)
    if producer is not None and batch.producer_epoch < producer.epoch:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"epoch {batch.producer_epoch} of producer {batch.producer_id}, "
            f"its latest is {producer.epoch}",
        )


def check_marker(
    coordinator_epoch: int, transaction_version: int, producers: ProducerState, header: BatchHeader
) -> None:
    """Check a marker.

    Under transaction version 2 its epoch is newer than that of the transaction. An equal epoch
    without an open transaction is accepted: the coordinator repeats a marker after a crash
    (KAFKA-19999).
    Raises KafkaError: INVALID_PRODUCER_EPOCH; TRANSACTION_COORDINATOR_FENCED for a marker of a
    coordinator that was replaced.
    """
    producer = producers.get(header.producer_id)
    if producer is None:
        return
    epoch, latest = header.producer_epoch, producer.epoch
    is_old = epoch < latest
    if transaction_version >= STRICT_MARKERS and epoch == latest:
        is_old = producer.transaction_first_offset is not None
    if is_old:
        message = f"marker with epoch {epoch} of producer {header.producer_id}, latest is {latest}"
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, message)
    if coordinator_epoch < producer.coordinator_epoch:
        message = f"coordinator epoch {coordinator_epoch}, latest is {producer.coordinator_epoch}"
        raise KafkaError(ErrorCode.TRANSACTION_COORDINATOR_FENCED, message)
