"""Changes of one transactional id: values in, values out."""

import pytest

from tests.coordinators.transactions.kit import FIRST, SECOND
from trio_kafka.coordinators.transactions.states import TransactionEvent, TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    LAST_EPOCH,
    ProducerIdentity,
    Transaction,
    added,
    begun,
    completed,
    fenced,
    is_last_epoch,
    prepared,
)
from trio_kafka.errors import InvariantError

EMPTY = Transaction(transactional_id="x", producer_id=5, producer_epoch=0, timeout_ms=10)


def test_begin_forgets_the_transaction_and_remembers_the_producer_id_before() -> None:
    after = begun(EMPTY, ProducerIdentity(6, 0), last_epoch=LAST_EPOCH, timeout_ms=20, now_ms=3)

    assert after.identity == ProducerIdentity(6, 0)
    assert (after.last_producer_epoch, after.previous_producer_id) == (LAST_EPOCH, 5)
    assert (after.timeout_ms, after.updated_ms, after.started_ms) == (20, 3, -1)


def test_rotation_happens_with_the_last_marker() -> None:
    ongoing = added(EMPTY, [FIRST, SECOND], version=2, now_ms=1)
    ending = prepared(ongoing, TransactionEvent.COMMIT, version=2, next_producer_id=9, now_ms=2)

    after = completed(ending, 3)

    assert (ending.identity, after.identity) == (ProducerIdentity(5, 1), ProducerIdentity(9, 0))
    assert (after.previous_producer_id, after.next_producer_id) == (5, -1)
    assert (after.state, after.started_ms) == (TransactionState.COMPLETE_COMMIT, 1)


def test_fenced_transaction_has_no_last_epoch() -> None:
    after = fenced(EMPTY)

    assert (after.producer_epoch, after.last_producer_epoch) == (1, -1)


def test_event_that_the_table_does_not_have_breaks_an_invariant() -> None:
    with pytest.raises(InvariantError):
        completed(EMPTY, 1)


def test_last_epoch_for_a_client_is_one_below_the_highest() -> None:
    assert not is_last_epoch(LAST_EPOCH - 1)
    assert is_last_epoch(LAST_EPOCH)
    assert is_last_epoch(32767)
    assert LAST_EPOCH == 32766
