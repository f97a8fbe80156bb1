import timeit
from time import process_time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.log.kit import append, batch, new_log, produced
from tests.records.kit import encode_marker
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.log.producer_state import Producer, ProducerState
from trio_kafka.records.control import Marker
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


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans(), st.integers(0, 9)), max_size=60))
def test_last_stable_offset_is_the_first_offset_that_a_transaction_holds_back(steps):
    state, high_watermark = ProducerState(), 0
    unfinished, ended = {}, []
    for offset, (producer_id, begins, committed) in enumerate(steps):
        header = produced(producer_id, NO_SEQUENCE, offset=offset, transactional=True)
        if begins:
            state.note(header)
            unfinished.setdefault(producer_id, offset)
        else:
            state.note_marker(header, 0)
            if producer_id in unfinished:
                ended.append((unfinished.pop(producer_id), offset))
        high_watermark = max(high_watermark, offset + 1 - committed)
        waiting = [first for first, marker in ended if marker >= high_watermark]

        expected = min([high_watermark, *unfinished.values(), *waiting])
        assert state.last_stable_offset(high_watermark) == expected
        assert state.first_open_offset(-1) == min(unfinished.values(), default=-1)


def test_older_of_two_ended_transactions_holds_the_last_stable_offset_back():
    state = ProducerState()
    state.note(produced(1, offset=0, transactional=True))
    state.note(produced(2, offset=1, transactional=True))
    state.note_marker(produced(2, NO_SEQUENCE, offset=2), 0)
    state.note_marker(produced(1, NO_SEQUENCE, offset=3), 0)

    assert [state.last_stable_offset(committed) for committed in (2, 3, 4)] == [0, 0, 4]


def test_restored_transactions_count_in_the_order_of_their_offsets():
    state = ProducerState()
    for producer_id, first in ((1, 30), (2, 10), (3, 20)):
        state.restore(Producer(producer_id=producer_id, epoch=0, transaction_first_offset=first))
    stable = [state.last_stable_offset(100)]
    for producer_id in (2, 3, 1):
        state.note_marker(produced(producer_id, NO_SEQUENCE, offset=40), 0)
        stable.append(state.last_stable_offset(100))

    assert stable == [10, 20, 30, 100]


def cost_of_stable_offset(open_transactions):
    """Smallest CPU time of 100 calls, with a marker that is not committed."""
    state = ProducerState()
    for producer_id in range(open_transactions):
        state.note(produced(producer_id, offset=producer_id, transactional=True))
    state.note_marker(produced(0, NO_SEQUENCE, offset=open_transactions), 0)
    return min(
        timeit.repeat(lambda: state.last_stable_offset(9), number=100, repeat=7, timer=process_time)
    )


def test_last_stable_offset_costs_the_same_with_thousands_of_open_transactions():
    assert cost_of_stable_offset(10_000) < 20 * cost_of_stable_offset(10)


async def test_ended_transactions_are_forgotten_without_a_reader(world):
    log, producer = new_log(world), {"producer_id": 7, "producer_epoch": 0}
    marker = Marker(committed=True, coordinator_epoch=0)
    for number in range(50):
        append(log, batch(base_sequence=number, transactional=True, **producer))
        append(log, bytearray(encode_marker(marker, **producer, timestamp=0)))

    assert len(log.producers._ended) == 1
