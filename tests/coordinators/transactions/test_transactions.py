"""The machine of a shard: reloads, completions that come late or are refused, the tree."""

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
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.coordinators.transactions.records import tombstone
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.coordinators.transactions.transactions import markers_written
from trio_kafka.errors import ErrorCode, KafkaError
from trio_kafka.introspect.tree import Node
from trio_kafka.introspect.waits import Subject
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

    assert node.name == ID
    assert node.figures()["state"] == "Ongoing"


def test_parked_request_waits_for_the_markers_until_it_is_given_up() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    ticket = kit.submit_add(identity, FIRST)
    times = WaitTimes(5.0, 0, {("parked", ID): 5.1}.get)

    (wait,) = kit.machine.waits(ID, ticket, times)

    assert (wait.cause, wait.on) == ("change", Subject("partition", "t-0"))
    assert wait.left_s == pytest.approx(0.1)
    assert kit.machine.waits(ID, object(), times) == ()
    assert kit.machine.waits("other", ticket, times) == ()


def test_closed_machine_holds_nothing() -> None:
    kit = TransactionsKit()
    kit.ongoing(FIRST)

    whole(kit.machine.close())

    assert (kit.machine.by_id, kit.machine.ongoing) == ({}, {})
