"""Drills: a transaction that no coordinator ends, and one that is open for long."""

import trio
from trio.testing import MockClock

from tests.apis.transactional_ids import ID, initialize
from tests.apis.transactions import marker_request, produce_in_transaction
from tests.coordinators.transactions.test_open_transactions import hang
from tests.trio_kafka_admin.drills.kit import drill
from trio_kafka.protocol.messages.k22_init_producer_id import InitProducerIdRequest


async def test_hanging_transaction_is_named_until_an_operator_ends_it(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        await exercise.served.create_topic("payments")
        await hang(exercise.served, "payments")

        finding = await exercise.find("hanging-transaction")
        await exercise.served.ask(marker_request({"payments": [0]}, commit=False), 1)
        await trio.sleep(2)
        kinds = await exercise.findings()

    assert finding["title"] == "a transaction of producer 7 hangs in payments-0"
    assert "trio-kafka txn abort --topic payments --partition 0 --start-offset 0" in finding["more"]
    assert finding["severity"] == "wrong"
    assert "hanging-transaction" not in kinds


async def test_transaction_that_is_open_for_long_is_named_until_its_timeout_aborts_it(
    autojump_clock: MockClock,
) -> None:
    async with drill() as exercise:
        served = exercise.served
        await served.create_topic("orders")
        await initialize(served)
        answer = await served.ask(InitProducerIdRequest(ID, 120_000), 5)
        await produce_in_transaction(
            served,
            "orders",
            b"a",
            version=12,
            transactional_id=ID,
            producer_id=answer.producer_id,
            producer_epoch=answer.producer_epoch,
        )
        finding = await exercise.find("long-transaction", within_s=65)
        await trio.sleep(75)
        kinds = await exercise.findings()

    assert finding["title"].startswith(
        f"transaction {ID} is open for 1 minute and holds back orders-0"
    )
    assert (finding["severity"], finding["link"]["name"]) == ("watch", ID)
    assert "long-transaction" not in kinds
