import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import produced
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_state import ProducerState
from trio_kafka.records.header import NO_SEQUENCE
from trio_kafka.scheduling.chunked_work import whole

LAST = (1 << 31) - 1


def note(state, sequence, **fields):
    state.note(produced(1, sequence=sequence, **fields))


def check(state, sequence, **fields):
    return state.check(produced(1, sequence=sequence, **fields))


def refused(state, sequence, **fields):
    with pytest.raises(KafkaError) as caught:
        check(state, sequence, **fields)
    return caught.value.code


def test_unknown_producer_may_begin_with_any_sequence():
    assert check(ProducerState(), 77) is None


def test_next_sequence_must_follow_the_last_sequence():
    state = ProducerState()
    note(state, 0, delta=4)

    assert check(state, 5) is None
    assert refused(state, 6) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(state, 4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_sequence_zero_follows_the_largest_sequence():
    state = ProducerState()
    note(state, LAST - 1, delta=1)

    assert check(state, 0) is None
    note(state, LAST - 1, delta=3)
    assert state.get(1).last_sequence == 1
    assert check(state, 2) is None


def test_older_producer_epoch_is_fenced_and_newer_epoch_begins_with_sequence_zero():
    state = ProducerState()
    note(state, 0, epoch=3)

    assert refused(state, 1, epoch=2) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert refused(state, 1, epoch=4) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert check(state, 0, epoch=4) is None


def test_sequences_of_a_producer_without_an_epoch_are_not_checked():
    state = ProducerState()
    assert refused(state, 0, epoch=-2) is ErrorCode.INVALID_PRODUCER_EPOCH
    note(state, 0, epoch=-1)

    assert check(state, 9, epoch=-1) is None
    assert check(state, 9, epoch=2) is None
    assert refused(state, 9, epoch=-2) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_last_five_batches_of_a_producer_are_duplicates():
    state = ProducerState()
    for number in range(7):
        note(state, 2 * number, delta=1, offset=10 * number)

    for number in range(2, 7):
        assert check(state, 2 * number, delta=1).first_offset == 10 * number
    assert refused(state, 2, delta=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert refused(state, 12, delta=0) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_batch_of_an_older_producer_epoch_is_refused_and_not_a_duplicate():
    state = ProducerState()
    note(state, 0, epoch=0)
    note(state, 0, epoch=1)
    note(state, 1, epoch=1)

    assert refused(state, 0, epoch=0) is ErrorCode.INVALID_PRODUCER_EPOCH


def test_non_transactional_batch_within_a_transaction_is_refused():
    state = ProducerState()
    note(state, 0, transactional=True)

    assert refused(state, 1) is ErrorCode.INVALID_TXN_STATE
    assert check(state, 1, transactional=True) is None


def test_marker_ends_the_transaction_and_its_epoch_begins_with_sequence_zero():
    state = ProducerState()
    note(state, 0, offset=5, transactional=True)

    assert state.note_marker(produced(1, 1, offset=9), 2) == 5
    assert check(state, 0, epoch=1) is None
    assert refused(state, 1, epoch=1) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert state.note_marker(produced(1, 1, offset=10), 2) is None


def test_last_stable_offset_rises_only_when_the_marker_is_committed():
    state = ProducerState()
    assert state.last_stable_offset(8) == 8
    note(state, 0, offset=5, transactional=True)
    assert state.last_stable_offset(8) == 5
    state.note_marker(produced(1, 0, offset=9), 0)

    assert state.last_stable_offset(9) == 5
    assert state.last_stable_offset(10) == 10


def test_silent_producers_expire_unless_they_have_an_open_transaction():
    state = ProducerState()
    note(state, 0, timestamp=100)
    state.note(produced(2, offset=1, timestamp=100, transactional=True))

    whole(state.expire(99))
    assert len(state) == 2
    whole(state.expire(100))

    assert [producer.producer_id for producer in state] == [2]


def test_batch_without_sequence_is_checked_by_producer_epoch_and_never_a_duplicate():
    state = ProducerState()
    note(state, 4, epoch=2, delta=1, offset=0)

    assert check(state, NO_SEQUENCE, epoch=2) is None
    assert check(state, NO_SEQUENCE, epoch=3) is None
    assert refused(state, NO_SEQUENCE, epoch=1) is ErrorCode.INVALID_PRODUCER_EPOCH
    note(state, NO_SEQUENCE, epoch=2, delta=2, offset=7, timestamp=9, transactional=True)

    (producer,) = state
    assert (producer.last_sequence, producer.timestamp) == (NO_SEQUENCE, 9)
    assert producer.batches[-1].last_offset == 9
    assert producer.transaction_first_offset == 7
    assert check(state, NO_SEQUENCE, epoch=2, delta=2, transactional=True) is None  # no repeat
    assert refused(state, NO_SEQUENCE, epoch=2) is ErrorCode.INVALID_TXN_STATE
    assert check(state, 0, epoch=2, transactional=True) is None
    assert refused(state, 6, epoch=2, transactional=True) is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


def test_cleared_producer_state_has_no_producers_and_no_snapshot():
    state = ProducerState()
    note(state, 0, transactional=True)
    state.loads_at = 1

    state.clear()

    assert (len(state), state.loads_at, state.first_open_offset(9)) == (0, None, 9)


@given(st.lists(st.integers(0, 50), max_size=30), st.integers(0, LAST))
def test_consecutive_batches_are_accepted_and_their_repeats_are_duplicates(deltas, sequence):
    state = ProducerState()
    for offset, delta in enumerate(deltas):
        assert check(state, sequence, delta=delta) is None
        note(state, sequence, delta=delta, offset=offset)
        assert check(state, sequence, delta=delta).last_offset == offset + delta
        sequence = (sequence + delta + 1) % (LAST + 1)
