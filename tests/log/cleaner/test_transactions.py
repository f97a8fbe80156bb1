import pytest

from tests.log.cleaner.kit import data_batch, header_of, marker_batch
from trio_kafka.log.cleaner.transactions import Transactions
from trio_kafka.log.index.aborted_transactions import AbortedTransaction
from trio_kafka.records.batch import ProducerFields, Record
from trio_kafka.records.control import ControlType
from trio_kafka.records.header import TRANSACTIONAL, BatchHeader


def aborted(producer_id: int, first: int, last: int) -> AbortedTransaction:
    return AbortedTransaction(
        producer_id=producer_id, first_offset=first, last_offset=last, last_stable_offset=last + 1
    )


def data(offset: int, producer_id: int, *, transactional: bool = True) -> BatchHeader:
    fields = ProducerFields(producer_id, 0, 0)
    attributes = TRANSACTIONAL * transactional
    return header_of(data_batch(offset, [Record()], producer=fields, attributes=attributes))


def marker(offset: int, producer_id: int, *, count: int = 1) -> BatchHeader:
    fields = ProducerFields(producer_id, 0)
    header = header_of(marker_batch(offset, fields, commit=True, time=0))
    header.count = count
    return header


def test_batches_of_an_aborted_transaction_are_removed_up_to_its_marker() -> None:
    transaction = aborted(1, 2, 4)
    state = Transactions.since([transaction], 0)

    assert not state.see_data(data(0, 1))  # an earlier, committed transaction
    assert not state.see_control(marker(1, 1), ControlType.COMMIT)
    assert state.see_data(data(2, 1))
    assert not state.see_data(data(3, 2))
    assert not state.see_control(marker(4, 1), ControlType.ABORT)
    assert not state.see_data(data(5, 1))
    assert state.retained == [transaction]


def test_batch_outside_a_transaction_is_kept_inside_an_aborted_range() -> None:
    state = Transactions.since([aborted(1, 0, 5)], 0)

    assert not state.see_data(data(1, 1, transactional=False))


def test_a_marker_may_go_when_no_batch_of_its_transaction_is_left() -> None:
    state = Transactions.since([aborted(1, 0, 2)], 0)

    assert state.see_control(marker(2, 1), ControlType.ABORT)
    assert state.see_control(marker(3, 2), ControlType.COMMIT)
    assert state.see_control(marker(4, 1), ControlType.ABORT)  # without an entry
    assert state.retained == []


def test_empty_control_batch_may_be_removed() -> None:
    state = Transactions.since([], 0)
    state.see_data(data(0, 1))

    assert state.see_control(marker(1, 1, count=0), None)
    assert not state.see_control(marker(2, 1), ControlType.COMMIT)


@pytest.mark.parametrize("kind", [None, ControlType.LEADER_CHANGE])
def test_control_records_other_than_transaction_markers_are_kept(kind: ControlType | None) -> None:
    assert not Transactions.since([], 0).see_control(marker(0, -1), kind)


def test_aborted_transactions_that_end_below_the_first_offset_are_ignored() -> None:
    state = Transactions.since([aborted(1, 0, 4), aborted(1, 6, 9)], 5)

    assert not state.see_data(data(5, 1))
    assert state.see_data(data(6, 1))
