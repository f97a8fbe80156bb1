import pytest
import trio
from billing import PERIOD_S, bill_orders
from shop import place_orders
from trio.testing import MockClock

from trio_kafka.testing.kafka.in_loop import KafkaInLoop

pytestmark = pytest.mark.kafka(topics={"orders": 1, "invoices": 1})


async def test_each_customer_gets_one_invoice_after_a_minute(
    kafka_in_loop: KafkaInLoop, autojump_clock: MockClock
) -> None:
    kafka, world = kafka_in_loop, kafka_in_loop.broker.world
    async with trio.open_nursery() as nursery:
        nursery.start_soon(bill_orders, kafka.bootstrap, world)
        orders = [("ann", "tea", 3), ("bob", "rice", 5), ("ann", "milk", 2)]
        await place_orders(kafka.bootstrap, orders, world)

        await trio.sleep(PERIOD_S - 10)
        assert await kafka.records("invoices") == []

        await trio.sleep(20)
        invoices = await kafka.records("invoices", committed=True)
        assert [(invoice.key, invoice.text) for invoice in invoices] == [
            (b"ann", "5"),
            (b"bob", "5"),
        ]
        nursery.cancel_scope.cancel()


async def test_an_office_that_ends_in_the_middle_bills_no_order_twice(
    kafka_in_loop: KafkaInLoop, autojump_clock: MockClock
) -> None:
    kafka, world = kafka_in_loop, kafka_in_loop.broker.world
    await place_orders(kafka.bootstrap, [("ann", "tea", 3)], world)
    with trio.move_on_after(PERIOD_S + 10):
        await bill_orders(kafka.bootstrap, world)
    await place_orders(kafka.bootstrap, [("ann", "milk", 2)], world)
    with trio.move_on_after(PERIOD_S / 2):
        await bill_orders(kafka.bootstrap, world)

    with trio.move_on_after(PERIOD_S + 10):
        await bill_orders(kafka.bootstrap, world)

    invoices = await kafka.records("invoices", committed=True)
    assert [invoice.text for invoice in invoices] == ["3", "2"]
