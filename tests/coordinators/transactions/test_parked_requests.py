"""Requests that are parked until the markers of the transaction before are written."""

import pytest
from trio.testing import MockClock

from tests.apis.kit import batch, produce_request
from tests.apis.transactional_ids import add_request, begin, end
from tests.coordinators.transactions.kit import FIRST, ID, SECOND, TransactionsKit
from tests.introspect.waiting import chain, waiting
from trio_kafka.coordinators.shards.protocols import WaitTimes
from trio_kafka.coordinators.transactions.states import TransactionState
from trio_kafka.introspect.waits import Subject


def test_parked_request_waits_for_the_transaction_and_this_for_a_marker() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    ticket = kit.submit_add(identity, FIRST)
    times = WaitTimes(5.0, 0, {("parked", ID): 5.1}.get)

    transaction, marker = kit.machine.waits(ID, ticket, times)

    assert (transaction.cause, transaction.on) == ("change", Subject("transaction", ID))
    assert transaction.left_s == pytest.approx(0.1)
    assert (marker.cause, marker.on) == ("change", Subject("partition", "t-0"))
    assert kit.machine.waits(ID, object(), times) == ()
    assert kit.machine.waits("other", ticket, times) == ()


def test_requests_of_an_id_are_counted_until_they_are_taken_again() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    kit.submit_add(identity, FIRST)
    kit.submit_add(identity, SECOND)
    assert (kit.machine.parked.count(ID), kit.machine.parked.count("other")) == (2, 0)

    kit.write_markers()

    assert kit.machine.parked.count(ID) == 0


def test_requests_whose_transaction_was_prepared_again_keep_their_order_until_its_markers() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    first, second = kit.submit_add(identity, FIRST), kit.submit_add(identity, SECOND)
    kit.driver.hold = True
    kit.write_markers()
    # Before the completed transaction is committed, another one begins and ends.
    assert kit.add(identity, FIRST) == "waits"
    assert kit.end(identity) == "waits"

    kit.driver.commit()

    assert (kit.answer(first), kit.answer(second)) == ("waits", "waits")
    assert (kit.state, kit.machine.parked.count(ID)) == (TransactionState.PREPARE_COMMIT, 2)
    kit.driver.hold = True
    kit.write_markers()
    kit.driver.commit()
    assert (kit.answer(first), kit.answer(second)) == (None, None)
    assert kit.transaction.partitions == {FIRST, SECOND}
    assert ("parked", ID) not in kit.driver.timers


def test_requests_that_park_again_are_given_up_at_the_time_of_the_first() -> None:
    kit = TransactionsKit()
    identity = kit.ongoing(FIRST)
    kit.end(identity)
    ticket = kit.submit_add(identity, FIRST)
    longest_wait_ms = kit.driver.timers["parked", ID]
    kit.driver.advance(longest_wait_ms - 1)
    kit.driver.hold = True
    kit.write_markers()
    kit.add(identity, FIRST)
    kit.end(identity)
    kit.driver.commit()
    assert kit.answer(ticket) == "waits"

    kit.driver.advance(1)

    assert kit.answer(ticket) == "CONCURRENT_TRANSACTIONS"


async def test_request_in_a_broker_says_that_it_waits_for_the_markers_of_the_transaction_before(
    autojump_clock: MockClock,
) -> None:
    settings = {"add.partitions.to.txn.retry.backoff.max.ms": "4000"}
    async with waiting(settings) as waits:
        served = waits.served
        await served.create_topic("t")
        identity = await begin(served)
        served.broker.replicas.partition("t", 0).isr = ()  # markers are refused
        assert (await end(served, identity)).error_code == 0
        await waits.ask(add_request(identity, {"t": [0]}), 3)
        sent = {
            "producer_id": identity.producer_id,
            "producer_epoch": identity.epoch,
            "base_sequence": 0,
            "transactional": True,
        }
        request = produce_request("t", (0, batch(b"x", **sent)), acks=1)
        request.transactional_id = ID
        await waits.ask(request, 12)

        expected = [("change", "transaction", ID), ("change", "partition", "t-0")]
        for api in ("AddPartitionsToTxn", "Produce"):
            why = await waits.why(api)
            assert chain(why)[:2] == expected
            assert why[0].left_s is not None
            assert 0 < why[0].left_s <= 3.1  # the earlier of two deadlines
