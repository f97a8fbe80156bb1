"""Transactional ids of a broker in virtual time: none, several, expired ones."""

import trio
from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import begin, end, initialize
from trio_kafka.controls.transactions import describe_transaction, list_transactions
from trio_kafka.controls.values import Transaction


async def test_transactional_ids_are_listed_by_name_with_the_age_of_open_transactions(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t", partitions=2)
        assert await list_transactions(served.broker) == []

        await initialize(served, "b")
        await begin(served, {"t": [1, 0]}, "a")
        await trio.sleep(2.5)

        first, second = await list_transactions(served.broker)

        assert (first.transactional_id, first.state) == ("a", "Ongoing")
        assert first.partitions == (("t", 0), ("t", 1))
        assert first.age_s is not None
        assert 2.4 < first.age_s < 3
        assert (second.transactional_id, second.state, second.age_s) == ("b", "Empty", None)
        assert second.timeout_s == 60


async def test_transactional_id_that_does_not_exist_is_dead(autojump_clock: MockClock) -> None:
    async with broker() as served:
        dead = Transaction(transactional_id="x", state="Dead")
        assert await describe_transaction(served.broker, "x") == dead


async def test_ended_transaction_has_no_age(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)
        await end(served, identity)
        await trio.sleep(1)

        transaction = await describe_transaction(served.broker, "payments")

        assert (transaction.state, transaction.age_s) == ("CompleteCommit", None)
        assert transaction.partitions == ()
