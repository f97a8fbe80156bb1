"""States of transactions."""

from contextlib import suppress

import pytest

from trio_kafka.clients.errors import (
    AbortableError,
    ClientError,
    RetriableError,
    TimedOutError,
)
from trio_kafka.clients.producer.sequences import Identities, Identity
from trio_kafka.clients.producer.transactions.machine import (
    TransactionMachine,
    TransactionState,
    unknown_end,
)
from trio_kafka.model import TopicPartition

PLACE = TopicPartition("t", 0)


class Interruption(BaseException):
    """A cancellation, which a test cannot make itself."""


def machine_of(*, is_new_protocol=True):
    machine = TransactionMachine(transactional_id="x", identities=Identities(is_local=False))
    machine.identified(Identity(7, 0))
    machine.begin(is_new_protocol=is_new_protocol)
    return machine


def test_transaction_goes_from_its_begin_to_its_end():
    machine = machine_of()
    machine.check_open()
    machine.begin_end()
    machine.begin_end()
    machine.ended(Identity(7, 1))

    assert machine.state is TransactionState.READY
    assert machine.identities.current == Identity(7, 1)
    with pytest.raises(ClientError, match="no transaction is open"):
        machine.check_open()
    machine.begin(is_new_protocol=True)
    with pytest.raises(ValueError, match="x: from open to open"):
        machine.begin(is_new_protocol=True)


def test_newer_protocol_admits_every_partition():
    machine = machine_of()
    assert not machine.is_begun
    assert machine.admits(PLACE)
    assert machine.is_begun


def test_older_protocol_admits_partitions_that_were_added():
    machine = machine_of(is_new_protocol=False)

    assert not machine.admits(PLACE)
    assert machine.to_add == {PLACE}
    assert not machine.is_begun
    machine.added({PLACE})
    assert machine.admits(PLACE)
    assert (machine.to_add, machine.is_begun) == (set(), True)
    machine.begin_end()
    assert machine.admits(PLACE)
    machine.ended(None)
    machine.begin(is_new_protocol=False)
    assert not machine.admits(PLACE)


@pytest.mark.parametrize(
    ("error", "is_begun", "may_be_begun"),
    [
        (None, True, False),
        (AbortableError("denied"), False, False),
        (AbortableError("denied after a lost answer", sent=True), False, True),
        (TimedOutError("late"), False, True),
        (Interruption(), False, True),
    ],
    ids=["added", "denied", "unclear", "late", "cancelled"],
)
def test_broker_may_know_of_a_transaction_to_which_something_was_added_without_an_answer(
    error, is_begun, may_be_begun
):
    machine = machine_of(is_new_protocol=False)

    with suppress(ClientError, Interruption), machine.adding():
        if error is not None:
            raise error

    assert (machine.is_begun, machine.may_be_begun) == (is_begun, may_be_begun)


def test_failed_transaction_admits_nothing_and_can_only_end():
    machine = machine_of()
    machine.fail(RetriableError("late"))

    assert machine.state is TransactionState.FAILED
    assert not machine.admits(PLACE)
    with pytest.raises(AbortableError, match="the transaction has failed: late"):
        machine.check_open()
    machine.begin_end()
    machine.ended(None)
    assert machine.state is TransactionState.READY


def test_failure_while_the_transaction_ends_is_kept():
    machine = machine_of()
    machine.begin_end()
    machine.fail(RetriableError("first"))
    machine.fail(RetriableError("second"))

    assert str(machine.failure) == "first"


def test_gap_needs_a_new_epoch_unless_the_end_has_given_one():
    for identity, state in (
        (None, TransactionState.UNKNOWN),
        (Identity(7, 1), TransactionState.READY),
    ):
        machine = machine_of()
        machine.batch_failed(RetriableError("late"))
        machine.begin_end()
        machine.ended(identity)
        assert machine.state is state


def test_unknown_end_needs_a_new_epoch():
    machine = machine_of()
    machine.begin_end()
    machine.lost()

    assert machine.state is TransactionState.UNKNOWN
    assert unknown_end("x", RetriableError("lost")).sent
