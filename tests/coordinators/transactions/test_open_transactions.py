"""Open transactions in partitions, and whether their coordinator knows them."""

from trio.testing import MockClock

from tests.apis.kit import broker
from tests.apis.transactional_ids import ID, begin, serve_transactions
from tests.apis.transactions import Coordinator, marker_request, produce_in_transaction
from trio_kafka.coordinators.transactions.coordinator import TransactionCoordinator
from trio_kafka.coordinators.transactions.open_transactions import judged_transactions
from trio_kafka.introspect.facts.transactions import OpenTransactions
from trio_kafka.replication.leader.transaction_gate import Admissions
from trio_kafka.scheduling.chunked_work import whole
from trio_kafka.testing.broker import ServedBroker


async def hang(served: ServedBroker, topic: str = "t", **producer: int) -> None:
    """Begin a transaction that the coordinator does not know."""
    gate = served.broker[Admissions].gate
    Coordinator(served)
    await produce_in_transaction(served, topic, b"a", b"b", **producer)
    served.broker[Admissions].gate = gate


def judged(served: ServedBroker, most: int = 10, topics: str = "t u") -> OpenTransactions:
    coordinator = served.broker[TransactionCoordinator]
    return whole(
        judged_transactions(
            coordinator,
            served.broker.parts.replicas,
            topics.split().__contains__,
            lambda name: name != "hidden",
            most=most,
        )
    )


async def test_transaction_that_no_coordinator_knows_hangs_until_a_marker_ends_it(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await serve_transactions(served, ID)
        await hang(served)

        opened = judged(served)
        await served.ask(marker_request({"t": [0]}, commit=False), 1)

        assert judged(served) == OpenTransactions(listed=(), total=0)
    (entry,) = opened.listed
    assert (entry.verdict, entry.transactional_id, opened.total) == ("hanging", None, 1)
    assert (entry.topic, entry.partition, entry.producer_id, entry.epoch) == ("t", 0, 7, 0)
    assert (entry.start, entry.held, entry.is_oldest) == (0, 2, True)
    assert entry.coordinator_epoch == -1


async def test_transaction_of_an_id_is_known_and_others_behind_it_are_not_the_oldest(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served)
        await produce_in_transaction(
            served,
            "t",
            b"a",
            transactional_id=ID,
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
        )
        await hang(served)

        hanging, known_transaction = judged(served).listed
        (only,) = judged(served, most=1).listed

    assert (known_transaction.verdict, known_transaction.transactional_id) == ("known", ID)
    assert (known_transaction.is_oldest, known_transaction.held) == (True, 3)
    assert (hanging.verdict, hanging.is_oldest, hanging.held) == ("hanging", False, 2)
    assert only == known_transaction


async def test_transaction_whose_id_has_ended_it_elsewhere_hangs_and_names_the_id(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        for topic in ("t", "u"):
            await served.create_topic(topic)
        identity = await begin(served)  # of t-0 alone
        await hang(served, "u", producer_id=identity.producer_id, producer_epoch=identity.epoch)

        (entry,) = judged(served).listed

    assert (entry.topic, entry.verdict, entry.transactional_id) == ("u", "hanging", ID)


async def test_verdict_is_unclear_while_a_shard_is_not_loaded_or_led_elsewhere(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await serve_transactions(served, ID)
        await hang(served)
        runtime = served.broker[TransactionCoordinator].runtime
        runtime.count = (runtime.count or 0) + 1

        (entry,) = judged(served).listed

    assert entry.verdict == "unclear"


async def test_hidden_topics_and_ids_are_not_named(autojump_clock: MockClock) -> None:
    async with broker() as served:
        await served.create_topic("t")
        identity = await begin(served, name="hidden")
        await produce_in_transaction(
            served,
            "t",
            b"a",
            transactional_id="hidden",
            producer_id=identity.producer_id,
            producer_epoch=identity.epoch,
        )

        (entry,) = judged(served).listed
        assert judged(served, topics="u").listed == ()

    assert (entry.transactional_id, entry.verdict) == (None, "known")


async def test_transaction_that_ends_while_it_is_looked_for_does_not_hang(
    autojump_clock: MockClock,
) -> None:
    async with broker() as served:
        await served.create_topic("t")
        await serve_transactions(served, ID)
        await hang(served)
        coordinator, replicas = served.broker[TransactionCoordinator], served.broker.replicas
        steps = judged_transactions(
            coordinator, replicas, lambda _topic: True, lambda _name: True, most=9
        )
        next(steps)  # the logs have been read

        await served.ask(marker_request({"t": [0]}, commit=False), 1)

        assert whole(steps).listed == ()
