"""InitProducerId with a transactional id: epochs, fences, repeated requests (KIP-360)."""

import pytest

from tests.coordinators.transactions.kit import (
    FIRST,
    ID,
    NEW_ID,
    REFUSED,
    ROTATED_ID,
    TransactionsKit,
)
from trio_kafka.coordinators.transactions.initializing import (
    NEEDS_PRODUCER_ID,
    Initialization,
    needs_producer_id,
)
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    HIGHEST_EPOCH,
    LAST_EPOCH,
    ProducerIdentity,
)


def test_first_producer_of_an_id_gets_the_new_producer_id_with_epoch_0() -> None:
    kit = TransactionsKit()

    assert kit.initialize(new_id=None) is NEEDS_PRODUCER_ID
    assert kit.initialize() == ProducerIdentity(NEW_ID, 0)
    assert kit.state is TransactionState.EMPTY


def test_next_producer_gets_the_next_epoch_and_the_one_before_is_fenced() -> None:
    kit = TransactionsKit()
    old = kit.initialize()

    assert kit.initialize(new_id=None) == ProducerIdentity(NEW_ID, 1)
    assert kit.add(old) == "PRODUCER_FENCED"
    assert kit.initialize(old) == "PRODUCER_FENCED"


def test_producer_that_names_its_epoch_gets_the_next_one_and_may_repeat_the_request() -> None:
    kit = TransactionsKit()
    first = kit.initialize()

    second = kit.initialize(first)

    assert second == ProducerIdentity(NEW_ID, 1)
    assert kit.initialize(first) == second
    assert kit.initialize(second) == ProducerIdentity(NEW_ID, 2)
    assert kit.initialize(first) == "PRODUCER_FENCED"


def test_repeated_request_is_fenced_after_a_reload_as_the_epoch_before_is_not_stored() -> None:
    kit = TransactionsKit()
    first = kit.initialize()
    kit.initialize(first)
    kit.reload()

    assert kit.initialize(first) == "PRODUCER_FENCED"


def test_producer_with_another_producer_id_is_fenced() -> None:
    kit = TransactionsKit()
    kit.initialize()

    assert kit.initialize(ProducerIdentity(NEW_ID + 1, 0)) == "PRODUCER_FENCED"


def test_producer_of_an_unknown_id_begins_anew_whatever_it_expects() -> None:
    kit = TransactionsKit()

    assert kit.initialize(ProducerIdentity(7, 3)) == ProducerIdentity(NEW_ID, 0)


@pytest.mark.parametrize(("level", "epoch"), [(0, 1), (1, 1), (2, 1)])
def test_open_transaction_is_aborted_with_one_new_epoch_before_the_producer_gets_its_own(
    level: int, epoch: int
) -> None:
    kit = TransactionsKit(level)
    kit.ongoing()

    assert kit.initialize() == "CONCURRENT_TRANSACTIONS"
    assert kit.state is TransactionState.PREPARE_ABORT
    assert [(sent.producer_epoch, sent.partitions) for sent in kit.sent] == [(epoch, {FIRST})]
    assert kit.initialize() == "CONCURRENT_TRANSACTIONS"
    kit.write_markers()
    assert kit.state is TransactionState.COMPLETE_ABORT

    assert kit.initialize() == ProducerIdentity(NEW_ID, epoch + 1)


@pytest.mark.parametrize("level", [1, 2])
def test_used_up_epochs_of_an_open_transaction_are_followed_by_a_new_producer_id(
    level: int,
) -> None:
    kit = TransactionsKit(level)
    assert kit.add(kit.use_up()) is None

    assert kit.initialize() == "CONCURRENT_TRANSACTIONS"
    kit.write_markers()

    assert kit.transaction.producer_epoch == LAST_EPOCH + 1
    assert kit.initialize(new_id=None) is NEEDS_PRODUCER_ID
    assert kit.initialize(new_id=ROTATED_ID) == ProducerIdentity(ROTATED_ID, 0)


@pytest.mark.parametrize("level", [1, 2])
def test_transaction_at_the_highest_epoch_is_aborted_and_followed_by_a_new_producer_id(
    level: int,
) -> None:
    kit = TransactionsKit(level)
    assert kit.add(kit.use_up(HIGHEST_EPOCH)) is None

    assert kit.initialize() == "CONCURRENT_TRANSACTIONS"
    kit.write_markers()

    assert kit.transaction.producer_epoch == HIGHEST_EPOCH
    assert kit.initialize(new_id=ROTATED_ID) == ProducerIdentity(ROTATED_ID, 0)


def test_answer_that_rotated_the_producer_id_may_be_asked_for_again() -> None:
    kit = TransactionsKit()
    used_up = kit.use_up()

    rotated = kit.initialize(used_up, new_id=ROTATED_ID)

    assert rotated == ProducerIdentity(ROTATED_ID, 0)
    assert kit.initialize(used_up) == rotated
    assert kit.add(used_up) == "INVALID_PRODUCER_ID_MAPPING"


def test_an_id_is_needed_for_a_new_id_and_for_used_up_epochs_only() -> None:
    kit = TransactionsKit()
    request = Initialization(transactional_id=ID, timeout_ms=1)

    assert needs_producer_id(request, kit.machine)
    kit.initialize()
    assert not needs_producer_id(request, kit.machine)
    kit.use_up()
    assert needs_producer_id(request, kit.machine)


def test_refused_record_leaves_the_producer_as_it_was() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing()
    kit.driver.refuse = REFUSED

    assert kit.initialize() == "NOT_ENOUGH_REPLICAS"

    assert (kit.sent, kit.state) == ([], TransactionState.ONGOING)
    assert kit.transaction.identity == identity
