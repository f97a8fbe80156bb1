"""Reading events: one id, and those that a filter chooses."""

from functools import partial

import pytest
from attrs import evolve

from tests.coordinators.transactions.kit import FIRST, ID, NEW_ID, TransactionsKit
from trio_kafka.coordinators.transactions.inspection import (
    TransactionFilter,
    describe_transaction,
    list_transactions,
)
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.errors import ErrorCode, KafkaError


def listed(kit: TransactionsKit, chosen: TransactionFilter) -> list[str]:
    transactions = kit.driver.ask(partial(list_transactions, chosen))
    return [transaction.transactional_id for transaction in transactions]


def test_unknown_id_is_not_found() -> None:
    kit = TransactionsKit()
    kit.initialize()

    assert kit.driver.ask(partial(describe_transaction, ID)) == kit.transaction
    with pytest.raises(KafkaError) as caught:
        kit.driver.ask(partial(describe_transaction, "none"))
    assert caught.value.code is ErrorCode.TRANSACTIONAL_ID_NOT_FOUND


def test_filters_are_combined() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)
    kit.initialize(name="idle", new_id=NEW_ID + 1)
    ongoing = TransactionFilter(states=frozenset({TransactionState.ONGOING}))

    assert listed(kit, TransactionFilter()) == [ID, "idle"]
    assert listed(kit, ongoing) == [ID]
    assert listed(kit, evolve(ongoing, producer_ids=frozenset({NEW_ID + 1}))) == []
    assert listed(kit, TransactionFilter(matches=lambda name: name == "idle")) == ["idle"]


def test_duration_is_the_age_of_the_transaction_and_an_idle_id_has_none() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)
    kit.initialize(name="idle", new_id=NEW_ID + 1)
    kit.driver.now_ms += 1000

    assert listed(kit, TransactionFilter(longer_than_ms=999)) == [ID]
    assert listed(kit, TransactionFilter(longer_than_ms=1000)) == []
