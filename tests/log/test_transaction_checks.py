from functools import partial

import pytest

from tests.log.kit import produced
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.log.transaction_checks import (
    begin_verification,
    check_marker,
    check_verified,
    check_verified_offsets,
)
from trio_kafka.log.verification import OPEN, UNVERIFIED
from trio_kafka.records.batch import ProducerFields
from trio_kafka.records.header import NO_SEQUENCE
from trio_kafka.scheduling.chunked_work import whole


def sent(sequence: int = 0, *, epoch: int = 0, offset: int = 0):
    return produced(1, epoch, sequence, offset=offset, transactional=True)


def begin(state: ProducerState, header, *, bumps_epoch: bool = False, now_ms: int = 0):
    return begin_verification(state, header, now_ms, bumps_epoch=bumps_epoch)


def end(state: ProducerState, *, epoch: int = 0, coordinator_epoch: int = 0) -> None:
    state.note_marker(produced(1, epoch, NO_SEQUENCE, offset=50), coordinator_epoch)


def refused(check, *arguments) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        check(*arguments)
    return caught.value.code


# Batches


def test_unverified_batch_begins_a_transaction_and_its_epoch_is_checked() -> None:
    state = ProducerState()

    assert check_verified(UNVERIFIED, state, sent()) is None
    state.note(sent(epoch=3))
    assert refused(check_verified, UNVERIFIED, state, sent()) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert check_verified_offsets(UNVERIFIED, state, sent(epoch=3)) is None


def test_first_batch_is_accepted_with_its_guard_and_the_next_ones_while_the_transaction_is_open():
    state = ProducerState()
    guard = begin(state, sent())

    assert check_verified(guard, state, sent()) is None
    state.note(sent())

    assert begin(state, sent(1)) is OPEN
    assert check_verified(OPEN, state, sent(1)) is None
    assert check_verified(guard, state, sent(1)) is None  # asked before the first was appended


def test_batch_without_a_guard_is_rejected_outside_of_a_transaction():
    assert refused(check_verified, OPEN, ProducerState(), sent()) is ErrorCode.INVALID_TXN_STATE


def test_late_answer_for_an_ended_transaction_admits_nothing_to_the_next_one():
    state = ProducerState()
    late = begin(state, sent())

    end(state)  # the coordinator aborted meanwhile
    begin(state, sent())  # the next transaction asks

    assert refused(check_verified, late, state, sent()) is ErrorCode.INVALID_TXN_STATE


def test_batch_that_found_its_transaction_open_is_rejected_after_the_marker():
    state = ProducerState()
    state.note(sent())
    guard = begin(state, sent(1))

    end(state)

    assert refused(check_verified, guard, state, sent(1)) is ErrorCode.INVALID_TXN_STATE


def test_open_transaction_of_an_older_epoch_admits_no_batch():
    state = ProducerState()
    state.note(sent())

    guard = begin(state, sent(epoch=1))

    assert guard is not OPEN
    assert refused(check_verified, OPEN, state, sent(epoch=1)) is ErrorCode.INVALID_TXN_STATE
    assert check_verified(guard, state, sent(epoch=1)) is None


def test_repeated_batch_of_an_ended_transaction_is_a_duplicate_and_not_an_error():
    state = ProducerState()
    state.note(sent(offset=7))
    end(state)

    assert check_verified(OPEN, state, sent()).last_offset == 7


def test_transaction_does_not_begin_with_a_later_batch_than_the_first_in_flight():
    """Also for a producer that the log does not know, which may begin with any sequence."""
    state = ProducerState()
    guard = begin(state, sent(5))
    begin(state, sent(6))

    code = refused(check_verified, guard, state, sent(6))

    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert check_verified(guard, state, sent(5)) is None


def test_unknown_producer_begins_with_sequence_zero_if_each_transaction_has_an_epoch():
    state = ProducerState()
    guard = begin(state, sent(5), bumps_epoch=True)

    code = refused(check_verified, guard, state, sent(5))

    assert code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert check_verified(guard, state, sent(0)) is None


def test_offsets_of_a_transaction_need_a_guard_and_have_the_same_sequence_each_time():
    state = ProducerState()
    guard = begin(state, ProducerFields(1, 0), bumps_epoch=True)

    assert refused(check_verified_offsets, OPEN, state, sent()) is ErrorCode.INVALID_TXN_STATE
    check_verified_offsets(guard, state, sent())
    state.note(sent())
    check_verified_offsets(OPEN, state, sent())

    end(state)
    assert refused(check_verified_offsets, OPEN, state, sent()) is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("check", [check_verified, check_verified_offsets])
@pytest.mark.parametrize("was_open", [False, True])
def test_batch_whose_transaction_was_fenced_since_its_verification_has_an_older_epoch(
    check, was_open
):
    """INVALID_TXN_STATE would be fatal to its client (KAFKA-19690)."""
    state = ProducerState()
    if was_open:
        state.note(sent())
    guard = begin(state, sent(1))
    assert (guard is OPEN) == was_open

    end(state, epoch=1)

    assert refused(check, guard, state, sent(1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(check, UNVERIFIED, state, sent(1)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_batch_of_an_older_epoch_is_not_verified():
    state = ProducerState()
    end(state, epoch=1)

    assert refused(begin, state, sent()) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert not state.verifications
    begin(state, sent(epoch=1))


def test_abandoned_verification_expires_with_the_silent_producers():
    state = ProducerState()
    guard = begin(state, sent(), now_ms=100)

    whole(state.expire(100))

    assert refused(check_verified, guard, state, sent()) is ErrorCode.INVALID_TXN_STATE


def test_batch_without_a_transaction_ends_no_verification():
    state = ProducerState()
    guard = begin(state, sent())
    state.note(produced(1, 0, NO_SEQUENCE))

    check_verified_offsets(guard, state, sent())


# Markers


def marker(state: ProducerState, epoch: int, *, version: int, coordinator_epoch: int = 0):
    header = produced(1, epoch, NO_SEQUENCE, transactional=True)
    return partial(check_marker, coordinator_epoch, version, state, header)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_marker_of_an_unknown_producer_is_accepted(version):
    marker(ProducerState(), 0, version=version)()


@pytest.mark.parametrize(
    ("version", "epoch", "accepted"),
    [(1, 4, False), (1, 5, True), (1, 6, True), (2, 4, False), (2, 5, False), (2, 6, True)],
)
def test_marker_of_version_2_needs_a_newer_epoch_than_its_transaction(version, epoch, accepted):
    state = ProducerState()
    state.note(sent(epoch=5))
    check = marker(state, epoch, version=version)

    if accepted:
        check()
    else:
        assert refused(check) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_repeated_marker_of_version_2_is_accepted():
    state = ProducerState()
    state.note(sent(epoch=5))
    end(state, epoch=6)

    marker(state, 6, version=2)()
    assert refused(marker(state, 5, version=2)) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_marker_of_an_older_coordinator_epoch_is_fenced():
    state = ProducerState()
    end(state, coordinator_epoch=3)

    marker(state, 0, version=1, coordinator_epoch=3)()
    code = refused(marker(state, 0, version=1, coordinator_epoch=2))

    assert code is ErrorCode.TRANSACTION_COORDINATOR_FENCED
