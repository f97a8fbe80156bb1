"""EndTxn in both protocols: every state, repeated requests, markers only after the commit."""

import pytest

from tests.coordinators.transactions.kit import (
    FIRST,
    NEW_ID,
    REFUSED,
    ROTATED_ID,
    SECOND,
    TransactionsKit,
)
from trio_kafka.coordinators.transactions.ending import fence
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import (
    HIGHEST_EPOCH,
    LAST_EPOCH,
    ProducerIdentity,
)


@pytest.mark.parametrize(
    ("commits", "prepared", "complete"),
    [
        (True, TransactionState.PREPARE_COMMIT, TransactionState.COMPLETE_COMMIT),
        (False, TransactionState.PREPARE_ABORT, TransactionState.COMPLETE_ABORT),
    ],
)
def test_end_is_answered_before_markers_and_complete_after_them(
    commits: bool, prepared: TransactionState, complete: TransactionState
) -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST, SECOND)

    assert kit.end(identity, commits=commits) == identity
    assert kit.state is prepared
    assert [sent.partitions for sent in kit.sent] == [{FIRST, SECOND}]
    assert kit.end(identity, commits=commits) == "CONCURRENT_TRANSACTIONS"
    assert kit.end(identity, commits=not commits) == "INVALID_TXN_STATE"

    kit.write_markers()
    assert kit.state is complete
    assert kit.transaction.partitions == set()
    assert kit.end(identity, commits=commits) == identity
    assert kit.end(identity, commits=not commits) == "INVALID_TXN_STATE"


def test_markers_are_not_sent_before_the_decision_is_committed() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing()
    kit.driver.hold = True

    assert kit.end(identity) == "waits"
    assert kit.sent == []
    kit.driver.commit()

    assert [sent.state for sent in kit.sent] == [TransactionState.PREPARE_COMMIT]


def test_decision_that_is_refused_sends_no_markers() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing()
    kit.driver.refuse = REFUSED

    assert kit.end(identity) == "NOT_ENOUGH_REPLICAS"

    assert (kit.sent, kit.state) == ([], TransactionState.ONGOING)


def test_old_protocol_refuses_an_end_without_a_transaction_and_a_fenced_producer() -> None:
    kit = TransactionsKit()
    assert kit.end(ProducerIdentity(NEW_ID, 0)) == "INVALID_PRODUCER_ID_MAPPING"
    identity = kit.initialize()

    assert kit.end(identity) == "INVALID_TXN_STATE"
    assert kit.end(identity, commits=False) == "INVALID_TXN_STATE"
    assert kit.end(ProducerIdentity(NEW_ID, 1)) == "PRODUCER_FENCED"
    assert kit.end(ProducerIdentity(1, 0)) == "INVALID_PRODUCER_ID_MAPPING"


def test_new_protocol_gives_a_new_epoch_with_each_end_and_again_if_it_is_repeated() -> None:
    kit = TransactionsKit(2)
    identity = kit.ongoing(version=2)
    after = ProducerIdentity(NEW_ID, 1)

    assert kit.end(identity, version=2) == after
    assert [sent.producer_epoch for sent in kit.sent] == [1]
    assert kit.end(identity, version=2) == "CONCURRENT_TRANSACTIONS"
    assert kit.end(after, version=2) == "PRODUCER_FENCED"
    kit.write_markers()

    assert kit.end(identity, version=2) == after
    assert kit.end(identity, version=2, commits=False) == "INVALID_TXN_STATE"
    assert kit.end(after, version=2) == "INVALID_TXN_STATE"


def test_new_protocol_does_not_end_the_next_transaction_with_a_repeated_request() -> None:
    kit = TransactionsKit(2)
    identity = kit.ongoing(version=2)
    after = kit.end(identity, version=2)
    kit.write_markers()
    kit.add(after, version=2)

    assert kit.end(identity, version=2) == "PRODUCER_FENCED"
    assert kit.state is TransactionState.ONGOING


def test_old_protocol_ends_the_next_transaction_with_a_delayed_request() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing()
    kit.end(identity)
    kit.write_markers()
    kit.add(identity)

    assert kit.end(identity) == identity  # the protocol's own weakness


@pytest.mark.parametrize("version", [0, 2])
def test_zombie_does_not_end_the_transaction_of_its_successor(version: int) -> None:
    kit = TransactionsKit(version)
    zombie = kit.initialize()
    kit.ongoing(version=version)

    assert kit.end(zombie, version=version) == "PRODUCER_FENCED"
    assert kit.state is TransactionState.ONGOING


@pytest.mark.parametrize("ends", [0, 1])
def test_new_protocol_aborts_a_transaction_without_partitions(ends: int) -> None:
    kit = TransactionsKit(2)
    identity = kit.initialize()
    for _ in range(ends):
        kit.add(identity, version=2)
        identity = kit.end(identity, version=2)
        kit.write_markers()
    kit.driver.now_ms += 7

    after = kit.end(identity, version=2, commits=False)

    assert after == ProducerIdentity(NEW_ID, identity.epoch + 1)
    assert kit.transaction.started_ms == kit.driver.now_ms
    kit.write_markers()
    assert kit.state is TransactionState.COMPLETE_ABORT


def test_used_up_epochs_rotate_the_producer_id_and_the_end_may_be_repeated() -> None:
    kit = TransactionsKit(2)
    identity = kit.use_up()
    assert identity.epoch == LAST_EPOCH
    kit.add(identity, version=2)
    after = ProducerIdentity(ROTATED_ID, 0)

    assert kit.end(identity, version=2) == "COORDINATOR_LOAD_IN_PROGRESS"
    assert kit.end(identity, version=2, new_id=ROTATED_ID) == after
    assert [sent.identity for sent in kit.sent] == [ProducerIdentity(NEW_ID, LAST_EPOCH + 1)]
    assert kit.end(identity, version=2, new_id=1) == "CONCURRENT_TRANSACTIONS"
    kit.write_markers()

    assert kit.end(identity, version=2, new_id=1) == after
    assert kit.transaction.identity == after


def test_commit_at_the_highest_epoch_is_refused_and_an_abort_rotates_the_producer_id() -> None:
    kit = TransactionsKit(2)
    identity = kit.use_up(HIGHEST_EPOCH)
    kit.add(identity, version=2)
    after = ProducerIdentity(ROTATED_ID, 0)

    assert kit.end(identity, version=2, new_id=ROTATED_ID) == "UNKNOWN_SERVER_ERROR"
    assert kit.state is TransactionState.ONGOING
    assert kit.end(identity, version=2, commits=False, new_id=ROTATED_ID) == after
    assert [sent.identity for sent in kit.sent] == [identity]
    # Leaders accept markers with the epoch of the transaction only from this version.
    assert [sent.client_version for sent in kit.sent] == [1]
    kit.write_markers()

    assert kit.transaction.identity == after


@pytest.mark.parametrize("version", [0, 1, 2])
def test_fence_leaves_the_highest_epoch_as_it_is(version: int) -> None:
    kit = TransactionsKit(version)
    kit.add(kit.use_up(HIGHEST_EPOCH), version=version)

    aborted = fence(kit.transaction, version, 5)

    assert (aborted.producer_epoch, aborted.client_version) == (HIGHEST_EPOCH, min(version, 1))


@pytest.mark.parametrize(("version", "epoch", "last"), [(0, 1, -1), (1, 1, -1), (2, 1, 0)])
def test_fence_raises_the_epoch_once(version: int, epoch: int, last: int) -> None:
    kit = TransactionsKit(version)
    kit.ongoing()

    aborted = fence(kit.transaction, version, 5)

    assert (aborted.producer_epoch, aborted.last_producer_epoch) == (epoch, last)
    assert aborted.state is TransactionState.PREPARE_ABORT
