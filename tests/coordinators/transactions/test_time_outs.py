"""Time-outs of transactions and the expiry of ids that are not used."""

import pytest

from tests.coordinators.transactions.kit import FIRST, ID, SECOND, TIMEOUT_MS, TransactionsKit
from trio_kafka.coordinators.transactions.settings import TransactionSettings
from trio_kafka.coordinators.transactions.states import TransactionState

CHECK_MS = 10_000
HOUR_MS = 3_600_000
WEEK_MS = 604_800_000


@pytest.mark.parametrize("level", [0, 2])
def test_transaction_above_its_timeout_is_aborted_and_its_producer_fenced(level: int) -> None:
    kit = TransactionsKit(level)
    identity = kit.ongoing(FIRST)

    kit.driver.advance(TIMEOUT_MS)
    assert kit.state is TransactionState.ONGOING
    kit.driver.advance(CHECK_MS)

    assert kit.state is TransactionState.PREPARE_ABORT
    assert [sent.producer_epoch for sent in kit.sent] == [identity.epoch + 1]
    kit.write_markers()
    assert kit.add(identity, FIRST) == "PRODUCER_FENCED"


def test_age_counts_from_the_first_partition() -> None:
    kit = TransactionsKit()
    identity = kit.initialize()
    kit.driver.advance(2 * TIMEOUT_MS)
    kit.add(identity, FIRST)

    kit.driver.advance(TIMEOUT_MS - CHECK_MS)

    assert kit.state is TransactionState.ONGOING


def test_later_partitions_do_not_put_off_the_timeout() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.driver.advance(TIMEOUT_MS - CHECK_MS)
    kit.add(identity, SECOND)

    kit.driver.advance(2 * CHECK_MS)

    assert kit.state is TransactionState.PREPARE_ABORT


def test_transaction_of_an_earlier_life_times_out_too() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)
    kit.reload()

    kit.driver.advance(TIMEOUT_MS + CHECK_MS)

    assert kit.state is TransactionState.PREPARE_ABORT


def test_search_ends_with_the_last_open_transaction() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    assert ("time-outs",) in kit.driver.timers
    kit.end(identity)
    kit.write_markers()

    kit.driver.advance(CHECK_MS)

    assert ("time-outs",) not in kit.driver.timers


def test_unused_id_is_removed_after_its_expiration() -> None:
    kit = TransactionsKit()
    kit.initialize()

    kit.driver.advance(WEEK_MS - HOUR_MS)
    assert ID in kit.machine.by_id
    kit.driver.advance(2 * HOUR_MS)

    assert kit.machine.by_id == {}
    assert kit.driver.log[-1][1] is None


def test_id_with_an_open_transaction_is_never_removed() -> None:
    kit = TransactionsKit(settings=TransactionSettings(time_out_check_ms=4 * WEEK_MS))
    kit.ongoing(FIRST)

    kit.driver.advance(2 * WEEK_MS)

    assert kit.state is TransactionState.ONGOING
