"""Records of transactions: both versions, and what is never written."""

import pytest
from attrs import evolve
from hypothesis import given
from hypothesis import strategies as st

from tests.coordinators.transactions.kit import FIRST, ID, SECOND
from trio_kafka.coordinators.transactions.records import (
    TRANSACTION_RECORDS,
    stored_transaction,
    tombstone,
    transaction_record,
)
from trio_kafka.coordinators.transactions.states import STORED_STATES, TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.errors import InvariantError
from trio_kafka.model import TopicPartition

TRANSACTION = Transaction(
    transactional_id=ID,
    producer_id=5,
    producer_epoch=3,
    previous_producer_id=4,
    next_producer_id=6,
    timeout_ms=1000,
    state=TransactionState.PREPARE_COMMIT,
    partitions=frozenset({FIRST, SECOND, TopicPartition("u", 7)}),
    started_ms=11,
    updated_ms=12,
    client_version=2,
)


def through_bytes(transaction: Transaction, level: int) -> Transaction | None:
    key, value = TRANSACTION_RECORDS.encode(transaction_record(transaction, level))
    return stored_transaction(TRANSACTION_RECORDS.decode(key, value))


@pytest.mark.parametrize("level", [1, 2])
def test_new_version_of_a_record_has_everything_but_the_epoch_before(level: int) -> None:
    assert through_bytes(evolve(TRANSACTION, last_producer_epoch=2), level) == TRANSACTION


def test_old_version_of_a_record_is_written_while_the_feature_is_at_level_0() -> None:
    _, value = TRANSACTION_RECORDS.encode(transaction_record(TRANSACTION, 0))

    assert value is not None
    assert value[:2] == b"\0\0"
    assert through_bytes(TRANSACTION, 0) == evolve(
        TRANSACTION, previous_producer_id=-1, next_producer_id=-1, client_version=0
    )


def test_bytes_are_those_that_kafka_writes() -> None:
    key, value = TRANSACTION_RECORDS.encode(
        transaction_record(evolve(TRANSACTION, partitions=frozenset({FIRST})), 0)
    )

    assert key.hex() == "00000008" + ID.encode().hex()
    assert value is not None
    assert value.hex() == (
        "0000"
        "0000000000000005"
        "0003"
        "000003e8"
        "02"
        "00000001"
        "000174"
        "00000001"
        "00000000"
        "000000000000000c"
        "000000000000000b"
    )


def test_empty_state_is_written_with_null_partitions() -> None:
    record = transaction_record(
        evolve(TRANSACTION, state=TransactionState.EMPTY, partitions=frozenset()), 1
    )

    assert record.value.transaction_partitions is None
    with pytest.raises(InvariantError):
        transaction_record(evolve(TRANSACTION, state=TransactionState.EMPTY), 1)


def test_tombstone_has_no_state() -> None:
    assert stored_transaction(tombstone(ID)) is None


@given(
    st.sampled_from(sorted(STORED_STATES)),
    st.frozensets(st.builds(TopicPartition, st.text(max_size=9), st.integers(0, 99))),
)
def test_every_state_survives_its_bytes(number: int, partitions: frozenset[TopicPartition]) -> None:
    state = STORED_STATES[number]
    if state is TransactionState.EMPTY:
        partitions = frozenset()
    transaction = evolve(TRANSACTION, state=state, partitions=partitions)

    assert through_bytes(transaction, 2) == transaction
