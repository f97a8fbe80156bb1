"""The machine of a shard: reloads, completions that come late or are refused, the tree."""

import gc
from functools import partial

import pytest

from tests.coordinators.transactions.kit import (
    FIRST,
    ID,
    REFUSED,
    TransactionsKit,
    check_invariants,
)
from trio_kafka.coordinators.shards.effects import CoordinatorRecord
from trio_kafka.coordinators.transactions.records import (
    TRANSACTION_RECORDS,
    tombstone,
    transaction_record,
)
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transaction import Transaction
from trio_kafka.coordinators.transactions.transactions import Transactions, markers_written
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.protocol.stored.transactions import TransactionLogKey, TransactionLogValue
from trio_kafka.scheduling.chunked_work import whole


def test_markers_of_a_prepared_transaction_are_sent_again_after_a_reload() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)

    kit.reload()

    assert [(sent.state, sent.partitions) for sent in kit.sent] == [
        (TransactionState.PREPARE_COMMIT, {FIRST})
    ]
    kit.write_markers()
    assert kit.state is TransactionState.COMPLETE_COMMIT


def test_markers_of_many_transactions_are_sent_in_small_steps_after_a_reload() -> None:
    sent = list[Transaction]()
    machine = Transactions(sent.append, {})
    for number in range(1000):
        state = Transaction(
            transactional_id=f"id-{number}",
            producer_id=number,
            timeout_ms=1,
            state=TransactionState.PREPARE_COMMIT,
        )
        machine.replay(transaction_record(state, 2))

    follow_up, sizes = whole(machine.loaded(0)).committed, []
    while follow_up is not None:
        before = len(sent)
        follow_up = follow_up(0).committed
        sizes.append(len(sent) - before)

    assert [each.producer_id for each in sent] == list(range(1000))
    assert max(sizes) <= 100


def test_an_idle_id_is_one_object_for_the_garbage_collector() -> None:
    machine = Transactions(lambda _transaction: None, {})
    encoded = [
        TRANSACTION_RECORDS.encode(
            transaction_record(
                Transaction(
                    transactional_id=f"id-{number}",
                    producer_id=number,
                    timeout_ms=1,
                    state=TransactionState.COMPLETE_COMMIT,
                ),
                2,
            )
        )
        for number in range(1000)
    ]
    gc.collect()
    before = len(gc.get_objects())

    for key, value in encoded:
        machine.replay(TRANSACTION_RECORDS.decode(key, value))

    gc.collect()
    assert len(gc.get_objects()) - before < 1050


def test_open_and_completed_transactions_send_nothing_after_a_reload() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.reload()
    assert (kit.sent, kit.state) == ([], TransactionState.ONGOING)
    kit.end(identity)
    kit.write_markers()

    kit.reload()

    assert (kit.sent, kit.state) == ([], TransactionState.COMPLETE_COMMIT)
    check_invariants(kit.machine)


def test_late_completion_does_not_end_the_next_transaction() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    (late,) = kit.sent
    kit.write_markers()
    kit.add(identity, FIRST)
    before = len(kit.driver.log)

    kit.driver.apply(partial(markers_written, late))

    assert (kit.state, len(kit.driver.log)) == (TransactionState.ONGOING, before)


def test_completion_that_is_refused_is_written_later() -> None:
    kit = TransactionsKit()
    kit.end(kit.ongoing(FIRST))
    kit.driver.refuse = REFUSED
    kit.write_markers()
    assert kit.state is TransactionState.PREPARE_COMMIT
    kit.driver.refuse = None

    kit.driver.advance(1000)

    assert kit.state is TransactionState.COMPLETE_COMMIT


def test_tombstone_removes_an_id() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)

    kit.machine.replay(tombstone(ID))

    assert (kit.machine.by_id, kit.machine.ongoing) == ({}, {})


def test_state_that_is_never_stored_is_skipped() -> None:
    kit = TransactionsKit()

    kit.machine.replay(
        CoordinatorRecord(TransactionLogKey(ID), TransactionLogValue(1, transaction_status=7))
    )

    assert kit.machine.by_id == {}


def test_unknown_id_is_an_error() -> None:
    with pytest.raises(KafkaError) as caught:
        TransactionsKit().machine.transaction(ID)

    assert caught.value.code is ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_tree_shows_each_id_with_its_state() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)

    (node,) = kit.machine.nodes(Node("parent", "part"))

    assert (node.name, node.kind) == (ID, "transaction")
    assert node.figures()["state"] == "Ongoing"


def test_tree_shows_ids_with_an_open_transaction_first_and_counts_those_that_it_omits() -> None:
    kit = TransactionsKit()
    for number in range(200):
        kit.initialize(name=f"id-{number:03}")
    kit.ongoing(FIRST)

    *nodes, more = kit.machine.nodes(Node("parent", "part"))

    assert [node.name for node in nodes] == [ID, *(f"id-{number:03}" for number in range(199))]
    assert more.name == "1 more transactional ids"


def test_closed_machine_holds_nothing() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)

    whole(kit.machine.close())

    assert (kit.machine.by_id, kit.machine.ongoing) == ({}, {})
