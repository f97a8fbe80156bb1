"""Partitions of a transaction: added, verified, and refused to producers that are fenced."""

from tests.coordinators.transactions.kit import (
    FIRST,
    NEW_ID,
    SECOND,
    TransactionsKit,
    check_invariants,
)
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import ProducerIdentity
from trio_kafka.errors import ErrorCode


def test_first_partition_begins_the_transaction_and_sets_its_start() -> None:
    kit = TransactionsKit()
    identity = kit.initialize()
    kit.driver.now_ms = 5_000_000

    assert kit.add(identity, FIRST) is None
    kit.driver.now_ms += 10
    assert kit.add(identity, SECOND) is None

    assert kit.state is TransactionState.ONGOING
    assert kit.transaction.partitions == {FIRST, SECOND}
    assert (kit.transaction.started_ms, kit.transaction.updated_ms) == (5_000_000, 5_000_010)
    check_invariants(kit.machine)


def test_partition_that_is_there_already_writes_no_record() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    before = len(kit.driver.log)

    assert kit.add(identity, FIRST) is None

    assert len(kit.driver.log) == before


def test_unknown_id_producer_id_and_epoch_are_refused() -> None:
    kit = TransactionsKit()

    assert kit.add(ProducerIdentity(NEW_ID, 0)) == "INVALID_PRODUCER_ID_MAPPING"
    kit.initialize()
    assert kit.add(ProducerIdentity(NEW_ID + 1, 0)) == "INVALID_PRODUCER_ID_MAPPING"
    assert kit.add(ProducerIdentity(NEW_ID, 1)) == "PRODUCER_FENCED"
    assert kit.verify(ProducerIdentity(NEW_ID, 1)) == "PRODUCER_FENCED"


def test_verification_names_the_partitions_that_are_missing() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)

    assert kit.verify(identity, FIRST) == {}
    assert kit.verify(identity, FIRST, SECOND) == {SECOND: ErrorCode.TRANSACTION_ABORTABLE}


def test_verification_waits_for_the_commit_of_the_record_that_it_rests_on() -> None:
    kit = TransactionsKit()
    identity = kit.initialize()
    kit.driver.hold = True

    assert kit.add(identity, FIRST) == "waits"
    assert kit.verify(identity, FIRST) == "waits"


def test_requests_that_come_while_markers_are_written_are_taken_afterwards_one_by_one() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    first, second = kit.submit_add(identity, FIRST), kit.submit_add(identity, SECOND)
    assert (kit.answer(first), kit.answer(second)) == ("waits", "waits")
    assert kit.verify(identity, FIRST) == "CONCURRENT_TRANSACTIONS"

    kit.write_markers()

    assert (kit.answer(first), kit.answer(second)) == (None, None)
    assert kit.state is TransactionState.ONGOING
    assert kit.transaction.partitions == {FIRST, SECOND}


def test_requests_wait_at_most_100_ms_for_markers() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    ticket = kit.submit_add(identity, SECOND)

    kit.driver.advance(99)
    assert kit.answer(ticket) == "waits"
    kit.driver.advance(1)

    assert kit.answer(ticket) == "CONCURRENT_TRANSACTIONS"
    kit.write_markers()
    assert kit.state is TransactionState.COMPLETE_COMMIT
